import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, IsOptional, IsUUID, ValidateNested } from 'class-validator';
import { Problem } from '../../kernel/errors/problem.js';
import type { FilterTrial, FilterVerdict } from '../application/test-filter.js';
import { compileFilter } from '../domain/payload-filter.js';

/** A filter as a trigger has it. */
export class FilterToTest {
  /**
   * Webhooks of which one must be where the payload comes from; without them any may.
   * @example ["019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"]
   */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(20)
  @IsUUID(undefined, { each: true })
  webhook_ids?: string[];

  /**
   * What the payload must hold; without it every payload matches.
   * @example { "action": ["opened"] }
   */
  // As it came: what class-transformer would make of it is another filter.
  @Transform(({ obj }: { obj: { payload?: unknown } }) => obj.payload)
  @IsOptional()
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  payload?: unknown;
}

/** A filter to try out. */
export class TestFilterRequest {
  /** The filter. */
  @IsObject()
  @ValidateNested()
  @Type(() => FilterToTest)
  filter: FilterToTest;

  /**
   * The webhook that the payload is taken to have come from; by default that of the delivery.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @IsOptional()
  @IsUUID()
  webhook_uid?: string;

  /**
   * An accepted delivery whose payload is tried; not together with `payload`.
   * @example "019c3f0e-8f2d-7b1e-9c3a-4d5e6f708192"
   */
  @IsOptional()
  @IsUUID()
  delivery_id?: string;

  /**
   * The payload to try, any JSON value; not together with `delivery_id`.
   * @example { "action": "opened" }
   */
  @Transform(({ obj }: { obj: { payload?: unknown } }) => obj.payload)
  @IsOptional()
  @ApiPropertyOptional({ description: 'Any JSON value' })
  payload?: unknown;
}

/** Whether the webhook is one of the filter's. */
export class WebhookCheckResponse {
  /**
   * Whether it is.
   * @example true
   */
  passed: boolean;

  /**
   * Why not.
   * @example "webhook_ids does not name the webhook"
   */
  reason?: string;
}

/** Whether the payload satisfies the filter. */
export class PayloadCheckResponse {
  /**
   * Whether it does.
   * @example false
   */
  passed: boolean;

  /**
   * Where it first fails; `$` is the payload itself.
   * @example "action"
   */
  failed_path?: string;

  /**
   * The condition that failed.
   * @example "action must be one of [\"opened\"]"
   */
  reason?: string;
}

/** What a delivery would do. */
export class TestFilterResponse {
  /**
   * Whether it would start a run of an automation with this filter.
   * @example false
   */
  @ApiProperty()
  would_trigger: boolean;

  /** The outcome for the webhook. */
  webhook_check: WebhookCheckResponse;

  /** The outcome for the payload. */
  payload_check: PayloadCheckResponse;
}

/** @throws Problem 400 naming the field */
export function toFilterTrial({ filter, ...request }: TestFilterRequest): FilterTrial {
  const compiled = compileFilter(filter.payload ?? {});
  if (compiled.outcome === 'invalid') {
    throw Problem.invalid(
      compiled.errors.map(({ path, message }) => ({ field: ['filter.payload', ...path].join('.'), message })),
    );
  }
  return {
    webhookIds: filter.webhook_ids?.map((uid) => uid.toLowerCase()),
    filter: compiled.filter,
    webhookUid: request.webhook_uid?.toLowerCase(),
    subject: subjectOf(request),
  };
}

function subjectOf(request: Pick<TestFilterRequest, 'delivery_id' | 'payload'>): FilterTrial['subject'] {
  const { delivery_id: deliveryId, payload } = request;
  if ((deliveryId === undefined) === (payload === undefined)) {
    throw Problem.invalid([
      {
        field: deliveryId === undefined ? 'delivery_id' : 'payload',
        message: 'Exactly one of delivery_id and payload is to be given',
      },
    ]);
  }
  return deliveryId === undefined ? { kind: 'payload', payload } : { kind: 'delivery', deliveryId };
}

export const toTestFilterResponse = ({ webhookCheck, payloadCheck }: FilterVerdict): TestFilterResponse => ({
  would_trigger: webhookCheck.passed && payloadCheck.passed,
  webhook_check: { passed: webhookCheck.passed, reason: webhookCheck.reason },
  payload_check: {
    passed: payloadCheck.passed,
    failed_path: payloadCheck.failedPath,
    reason: payloadCheck.reason,
  },
});
