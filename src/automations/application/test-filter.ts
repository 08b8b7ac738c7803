import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database } from '../../kernel/persistence/database.js';
import { EvaluationQueue, FactoryWebhooks } from '../../webhooks/index.js';
import { type CompiledFilter, MATCHED } from '../domain/payload-filter.js';

/** A filter, and what to hold against it. */
export interface FilterTrial {
  /** Undefined = any webhook. */
  webhookIds: string[] | undefined;
  filter: CompiledFilter;
  /** Where the payload is taken to have come from; by default that of the stored delivery. */
  webhookUid: string | undefined;
  subject: { kind: 'delivery'; deliveryId: string } | { kind: 'payload'; payload: unknown };
}

export interface FilterVerdict {
  webhookCheck: { passed: boolean; reason?: string };
  payloadCheck: { passed: boolean; failedPath?: string; reason?: string };
}

/** Says whether a delivery would start a run, and starts none. */
@Injectable()
export class TestFilter {
  constructor(
    private readonly queue: EvaluationQueue,
    private readonly webhooks: FactoryWebhooks,
    private readonly database: Database,
  ) {}

  /** @throws Problem 400 naming `delivery_id` when the team has no such delivery that was accepted */
  async execute(caller: AccountCaller, trial: FilterTrial): Promise<FilterVerdict> {
    const { payload, webhookUid } = await this.subjectOf(caller, trial);
    const webhook =
      webhookUid === undefined
        ? undefined
        : await this.webhooks.find(this.database, activeTeamOf(caller), webhookUid);
    return {
      webhookCheck: webhook?.isDeleted
        ? { passed: false, reason: 'The webhook was deleted' }
        : checkWebhook(trial.webhookIds, webhookUid),
      payloadCheck: checkPayload(trial.filter, payload),
    };
  }

  private async subjectOf(
    caller: AccountCaller,
    { subject, webhookUid }: FilterTrial,
  ): Promise<{ payload: unknown; webhookUid: string | undefined }> {
    if (subject.kind === 'payload') return { payload: subject.payload, webhookUid };
    const teamUid = activeTeamOf(caller);
    const stored = await this.queue.storedPayload(this.database, teamUid, subject.deliveryId);
    if (stored === undefined) {
      throw Problem.invalid([
        { field: 'delivery_id', message: 'must be a delivery to a webhook of the team that was accepted' },
      ]);
    }
    const payload: unknown = JSON.parse(stored.payload.toString('utf8'));
    return { payload, webhookUid: webhookUid ?? stored.webhookUid };
  }
}

function checkWebhook(
  webhookIds: string[] | undefined,
  webhookUid: string | undefined,
): FilterVerdict['webhookCheck'] {
  if (webhookIds === undefined) return { passed: true };
  if (webhookUid === undefined) {
    return { passed: false, reason: 'The payload comes from no webhook: name one in webhook_uid' };
  }
  return webhookIds.includes(webhookUid)
    ? { passed: true }
    : { passed: false, reason: 'webhook_ids does not name the webhook' };
}

function checkPayload(filter: CompiledFilter, payload: unknown): FilterVerdict['payloadCheck'] {
  const failure = filter.firstFailure(payload);
  if (failure === MATCHED) return { passed: true };
  const point = filter.failurePoints[failure];
  return { passed: false, failedPath: point?.path, reason: point && `${point.path} ${point.rule}` };
}
