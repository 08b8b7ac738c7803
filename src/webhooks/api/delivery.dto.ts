import { ApiProperty } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayNotEmpty, IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { IsTimestamp, parseTimestamp } from '../../kernel/http/timestamp.js';
import { PageInfo } from '../../kernel/pagination/page-info.dto.js';
import {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  EVALUATION_OUTCOMES,
  type EvaluationOutcome,
  IDENTITY_KINDS,
  type IdentityKind,
} from '../domain/delivery.js';
import type { DeliveryFilter, LoggedDelivery } from '../domain/delivery-log.js';
import type { Evaluation } from '../domain/evaluation.js';

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

const STATUS_LABELS: Record<DeliveryStatus, string> = {
  accepted: 'Accepted',
  duplicate: 'Duplicate',
  rejected_auth: 'Rejected (auth)',
  rejected_invalid_json: 'Rejected (invalid JSON)',
  rejected_too_large: 'Rejected (too large)',
};

/** Which deliveries, and which page of them. */
export class ListDeliveriesQuery {
  /**
   * Deliveries of this status; repeat it for any of several.
   * @example ["accepted", "duplicate"]
   */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value))
  @ArrayNotEmpty()
  @IsIn(DELIVERY_STATUSES, { each: true })
  @ApiProperty({ enum: DELIVERY_STATUSES, isArray: true, required: false })
  status?: DeliveryStatus[];

  /**
   * Received at this moment or later.
   * @example "2026-11-01T00:00:00Z"
   */
  @IsOptional()
  @IsTimestamp()
  @ApiProperty({ format: 'date-time', required: false })
  since?: string;

  /**
   * Received before this moment.
   * @example "2026-11-21T12:00:00+01:00"
   */
  @IsOptional()
  @IsTimestamp()
  @ApiProperty({ format: 'date-time', required: false })
  until?: string;

  /**
   * How many deliveries at most.
   * @example 50
   */
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  limit: number = DEFAULT_LIMIT;

  /**
   * `next_cursor` of the page before; everything but `limit` must be the same as for that page.
   * @example "eyJzY29wZSI6ImRlbGl2ZXJpZXMifQ.c2lnbmF0dXJl"
   */
  @IsOptional()
  @IsString()
  @ApiProperty({ required: false })
  cursor?: string;
}

/** What tells a delivery from the sender's others. */
export class DeliveryIdentityResponse {
  /**
   * Where it was found: the header that the webhook names, the provider's own, `X-Service-Delivery-Id`, or a hash of the body.
   * @example "provider"
   */
  @ApiProperty({ enum: IDENTITY_KINDS })
  kind: IdentityKind;

  /**
   * The value; of a body, its SHA-256 in hexadecimal digits.
   * @example "72d3162e-cc78-11e3-81ab-4c9367dc0958"
   */
  value: string;
}

/** What an automation made of a delivery. */
export class DeliveryEvaluationResponse {
  /**
   * The automation.
   * @example "019c3f0e-0000-7000-8000-000000000004"
   */
  automation_uid: string;

  /**
   * `pending`: it matched, and its run is about to be started.
   * @example "matched"
   */
  @ApiProperty({ enum: EVALUATION_OUTCOMES })
  outcome: EvaluationOutcome;

  /**
   * The run that it started.
   * @example "019c3f0e-0000-7000-8000-000000000005"
   */
  run_id?: string;

  /**
   * Where the payload filter did not match.
   * @example "pull_request.base.ref"
   */
  failed_path?: string;

  /**
   * Why no run was started.
   * @example "automation_disabled"
   */
  reason?: string;
}

/** A delivery, without its payload. */
export class DeliveryResponse {
  /**
   * The delivery.
   * @example "019c3f0e-0000-7000-8000-000000000001"
   */
  delivery_id: string;

  /**
   * Its webhook.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  webhook_uid: string;

  /**
   * What became of it.
   * @example "accepted"
   */
  @ApiProperty({ enum: DELIVERY_STATUSES })
  status: DeliveryStatus;

  /**
   * The same in words.
   * @example "Accepted"
   */
  status_label: string;

  /**
   * Of a duplicate: the delivery that was accepted with this identity.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  duplicate_of?: string;

  /** What tells it from the sender's others; absent where it was rejected. */
  identity?: DeliveryIdentityResponse;

  /**
   * Bytes of the body, as far as it was read.
   * @example 7421
   */
  size_bytes: number;

  /**
   * When it came in.
   * @example "2026-01-31T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  received_at: string;

  /**
   * Headers of the request: content type, user agent and the provider's ids and event names; never a credential.
   * @example { "content-type": "application/json", "x-github-event": "push" }
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } })
  headers: Record<string, string>;

  /** What automations made of it: where one delivery is read. Empty while it waits for that. */
  evaluations?: DeliveryEvaluationResponse[];
}

/** A page of a webhook's log. */
export class ListDeliveriesResponse {
  /** The deliveries, the latest first. */
  deliveries: DeliveryResponse[];

  /** Where the next page begins. */
  page_info: PageInfo;
}

export const toDeliveryFilter = (query: ListDeliveriesQuery): DeliveryFilter => ({
  statuses: query.status ?? DELIVERY_STATUSES,
  since: parseTimestamp(query.since, 'up'),
  until: parseTimestamp(query.until, 'up'),
});

/** @param evaluations to show, where one delivery is read */
export const toDeliveryResponse = (
  delivery: LoggedDelivery,
  evaluations?: Evaluation[],
): DeliveryResponse => ({
  delivery_id: delivery.id,
  webhook_uid: delivery.webhookUid,
  status: delivery.status,
  status_label: STATUS_LABELS[delivery.status],
  duplicate_of: delivery.duplicateOf ?? undefined,
  identity: delivery.identity && { kind: delivery.identity.kind, value: delivery.identity.value },
  size_bytes: delivery.sizeBytes,
  received_at: delivery.receivedAt.toISOString(),
  headers: delivery.headers,
  evaluations: evaluations?.map(toEvaluationResponse),
});

const toEvaluationResponse = (evaluation: Evaluation): DeliveryEvaluationResponse => ({
  automation_uid: evaluation.automationUid,
  outcome: evaluation.outcome,
  run_id: evaluation.runId,
  failed_path: evaluation.failedPath,
  reason: evaluation.reason,
});
