import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import { Clock, SECOND } from '../../kernel/clock.js';
import { newUuid } from '../../kernel/ids.js';
import { fingerprint } from '../domain/delivery-identity.js';
import type { Claim, IngressWebhook, RequestHead } from '../domain/ingress-webhook.js';
import { parsePayload } from '../domain/json-payload.js';
import { ownField } from '../domain/signatures/verifier.js';
import type { DeliveryRecord, Recording } from '../persistence/delivery.repository.js';
import { RecordDelivery } from './record-delivery.js';
import { WebhookCache } from './webhook-cache.js';

/** A request to the ingress whose body is still to be read. */
export interface Arrival extends RequestHead {
  webhookUid: string;
  /** Whom failures are counted against. */
  clientAddress: string;
  /** As the sender declares it. */
  contentLength: number | undefined;
  /** Reads the body once, as far as it is not too large, and answers the same ever after. */
  readBody(): Promise<BodyReading>;
}

export type BodyReading =
  | { outcome: 'read'; body: Buffer }
  /** So many bytes were announced, or read before it was too much. */
  | { outcome: 'too_large'; sizeBytes: number }
  /** The sender went away, or was too slow. */
  | { outcome: 'aborted' };

export type Reception =
  /** New or known: the id is that of the first delivery with this identity. */
  | { outcome: 'accepted'; deliveryId: string; isDuplicate: boolean }
  | { outcome: 'challenged'; challenge: string }
  /** The sender went away, or was too slow. */
  | { outcome: 'aborted' }
  | Refusal;

export type Refusal =
  | { outcome: 'not_found' | 'unauthenticated' | 'too_large' | 'invalid_json' }
  | { outcome: 'over_budget'; of: 'deliveries' | 'failures'; retryAfterSeconds: number }
  /** The webhook was changed again and again while it was being judged. */
  | { outcome: 'unsettled' };

type Judgement = Reception | { outcome: 'stale' };

/** What a request deserves by itself. */
interface Verdict {
  record: DeliveryRecord;
  /** The answer once that is recorded. */
  reception: Reception;
}

/** What is recorded of a request beside its webhook and its headers. */
type Judged = Pick<DeliveryRecord, 'status' | 'identity' | 'sizeBytes' | 'payload' | 'budget'>;

/** How often a request is judged anew because its webhook had changed. */
const MAX_JUDGEMENTS = 4;

/**
 * Takes one delivery in. The order of the checks is a promise to senders: the webhook, the credential as far as the headers show it,
 * the size, the signature over the bytes, the budget, the JSON, and then one transaction that records it.
 *
 * A remembered webhook decides nothing by itself. What it leads to is recorded only if its version is current, and the one answer that
 * records nothing (404) is given only by a webhook that was read for this request.
 */
@Injectable()
export class ReceiveDelivery {
  constructor(
    private readonly webhooks: WebhookCache,
    private readonly recordDelivery: RecordDelivery,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  /** @throws when the fault is ours; it is not known then whether the delivery was recorded */
  async execute(arrival: Arrival): Promise<Reception> {
    let webhook = this.webhooks.get(arrival.webhookUid);
    for (let judgement = 0; judgement < MAX_JUDGEMENTS; judgement++) {
      if (webhook !== undefined) {
        const verdict = await this.judge(webhook, arrival);
        if (verdict.outcome !== 'stale' && (verdict.outcome !== 'not_found' || judgement > 0)) return verdict;
      }
      webhook = await this.webhooks.read(arrival.webhookUid);
      if (webhook === undefined) return { outcome: 'not_found' };
    }
    return { outcome: 'unsettled' };
  }

  private async judge(webhook: IngressWebhook, arrival: Arrival): Promise<Judgement> {
    if (!webhook.isAt(arrival)) return { outcome: 'not_found' };
    const claim = webhook.claimOf(arrival, this.clock.now().getTime());
    const reading = claim && (await arrival.readBody());
    if (reading?.outcome === 'aborted') return reading;
    const verdict =
      claim && reading
        ? this.verdictOn(webhook, arrival, claim, reading)
        : this.refuse(webhook, arrival, arrival.contentLength ?? 0);
    return outcomeOf(verdict, await this.recordDelivery.execute(verdict.record));
  }

  private verdictOn(
    webhook: IngressWebhook,
    arrival: Arrival,
    claim: Claim,
    reading: Exclude<BodyReading, { outcome: 'aborted' }>,
  ): Verdict {
    if (reading.outcome === 'too_large') {
      const { sizeBytes } = reading;
      return {
        record: this.recordOf(webhook, arrival, { status: 'rejected_too_large', sizeBytes }),
        reception: { outcome: 'too_large' },
      };
    }
    const { body } = reading;
    return claim.fits(body)
      ? this.admit(webhook, arrival, claim, body)
      : this.refuse(webhook, arrival, body.length);
  }

  /** The request is authentic: it spends the webhook's budget, whatever it holds. */
  private admit(webhook: IngressWebhook, arrival: Arrival, claim: Claim, body: Buffer): Verdict {
    const perMinute = this.config.webhookDeliveriesPerMinute;
    const budget = perMinute > 0 ? { key: webhook.uid, perMinute } : undefined;
    const sizeBytes = body.length;
    const payload = parsePayload(body);
    if (!payload.valid) {
      return {
        record: this.recordOf(webhook, arrival, { status: 'rejected_invalid_json', sizeBytes, budget }),
        reception: { outcome: 'invalid_json' },
      };
    }
    const challenge = webhook.answersChallenges ? challengeOf(payload.value) : undefined;
    if (challenge !== undefined) {
      return {
        record: this.recordOf(webhook, arrival, { status: undefined, sizeBytes, budget }),
        reception: { outcome: 'challenged', challenge },
      };
    }
    const { kind, value } = claim.identityOf(body, payload.value);
    const identity = { kind, value, fingerprint: fingerprint(kind, value) };
    const record = this.recordOf(webhook, arrival, {
      status: 'accepted',
      sizeBytes,
      identity,
      payload: body,
      budget,
    });
    return {
      record,
      reception: { outcome: 'accepted', deliveryId: record.id, isDuplicate: false },
    };
  }

  /** A failure spends the budget of this client at this webhook, which nobody else feels. */
  private refuse(webhook: IngressWebhook, arrival: Arrival, sizeBytes: number): Verdict {
    const perMinute = this.config.webhookFailedAuthPerMinute;
    const key = fingerprint(webhook.uid, arrival.clientAddress);
    const budget = perMinute > 0 ? { key, perMinute } : undefined;
    return {
      record: this.recordOf(webhook, arrival, { status: 'rejected_auth', sizeBytes, budget }),
      reception: { outcome: 'unauthenticated' },
    };
  }

  /**
   * Written out, not spread: V8 gives an object that is spread and then extended a hidden class of its own, and keeps what it refers to
   * until the old generation is collected. At thousands of deliveries a second that was a tenth of this process's time.
   */
  private recordOf(webhook: IngressWebhook, { headers }: Arrival, judged: Judged): DeliveryRecord {
    return {
      id: newUuid(),
      webhookUid: webhook.uid,
      webhookVersion: webhook.version,
      status: judged.status,
      identity: judged.identity,
      sizeBytes: judged.sizeBytes,
      headers: webhook.loggedHeaders(headers),
      payload: judged.payload,
      budget: judged.budget,
    };
  }
}

/** What a request comes to, now that the database has said what became of its record. */
function outcomeOf({ record, reception }: Verdict, recording: Recording): Judgement {
  switch (recording.outcome) {
    case 'recorded':
      return reception;
    case 'duplicate':
      return { outcome: 'accepted', deliveryId: recording.duplicateOf, isDuplicate: true };
    case 'over_budget':
      return {
        outcome: 'over_budget',
        of: record.status === 'rejected_auth' ? 'failures' : 'deliveries',
        retryAfterSeconds: Math.ceil(recording.retryAfterMs / SECOND),
      };
    case 'stale':
      return { outcome: 'stale' };
  }
}

/** What Slack wants to have back before it sends events to an address. */
function challengeOf(payload: unknown): string | undefined {
  const challenge = ownField(payload, 'challenge');
  return ownField(payload, 'type') === 'url_verification' && typeof challenge === 'string'
    ? challenge
    : undefined;
}
