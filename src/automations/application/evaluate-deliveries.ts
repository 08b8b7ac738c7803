import { Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Database } from '../../kernel/persistence/database.js';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import {
  type ClaimedDelivery,
  EvaluationLog,
  EvaluationQueue,
  FactoryWebhooks,
  OUTCOME,
} from '../../webhooks/index.js';
import type { CompiledPlan } from '../domain/compile-plan.js';
import { MAX_ATTEMPTS, retryDelaySeconds } from '../domain/retry.js';
import { EvaluationPlans } from './evaluation-plans.js';
import { EvaluationReports } from './evaluation-reports.js';

/** So long filters may keep the process from everything else, in milliseconds. */
const TURN_MS = 5;
/** Filters between two looks at the clock. */
const FILTERS_PER_LOOK = 32;

/**
 * Holds claimed deliveries of one webhook against the automations that select it.
 *
 * In one transaction the deliveries leave the queue, what each automation made of them is recorded, and every match is queued for its
 * run. The transaction holds the factory, and begins anew when its automations have changed since they were read: what was deleted or
 * disabled before it does not match. A claim that was lost meanwhile counts for nothing.
 */
@Injectable()
export class EvaluateDeliveries {
  constructor(
    private readonly transactor: Transactor,
    private readonly database: Database,
    private readonly queue: EvaluationQueue,
    private readonly log: EvaluationLog,
    private readonly webhooks: FactoryWebhooks,
    private readonly plans: EvaluationPlans,
    private readonly reports: EvaluationReports,
  ) {}

  /** @throws what the database throws when it cannot be reached; the leases end then */
  async execute(webhookUid: string, claimed: ClaimedDelivery[]): Promise<void> {
    try {
      await this.evaluate(webhookUid, claimed);
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      const [delivery, ...others] = claimed;
      if (delivery === undefined) return;
      // One that cannot be evaluated must not harm the others.
      if (others.length > 0) for (const each of claimed) await this.execute(webhookUid, [each]);
      else await this.fail(delivery, error);
    }
  }

  private async evaluate(webhookUid: string, claimed: ClaimedDelivery[]): Promise<void> {
    const payloads = await this.queue.payloads(
      this.database,
      claimed.map(({ deliveryId }) => deliveryId),
    );
    for (;;) {
      const plan = await this.plans.of(webhookUid);
      const evaluated = await outcomesOf(plan, payloads);
      const isRecorded = await this.transactor.run(async (tx) => {
        const webhook = await this.webhooks.hold(tx, webhookUid);
        if (webhook !== undefined && !(await this.plans.isCurrent(tx, plan))) return false;
        const mine = await this.queue.complete(tx, claimed);
        if (webhook === undefined) return true;
        const deliveries = evaluated.filter(({ deliveryId }) => mine.has(deliveryId));
        if (webhook.isDeleted) for (const { outcomes } of deliveries) outcomes.fill(OUTCOME.webhookDeleted);
        await this.log.record(tx, plan, deliveries);
        return true;
      });
      if (isRecorded) return;
      this.plans.forget(plan);
    }
  }

  private async fail(delivery: ClaimedDelivery, error: unknown): Promise<void> {
    const { webhookUid, deliveryId, attempts } = delivery;
    const willRetry = attempts < MAX_ATTEMPTS;
    const fields = { webhook_uid: webhookUid, delivery_id: deliveryId, attempts };
    this.reports.failed('match', willRetry, fields, error);
    const plan = await this.plans.of(webhookUid);
    await this.transactor.run(async (tx) => {
      if (willRetry) return this.queue.postpone(tx, [delivery], retryDelaySeconds(attempts));
      const mine = await this.queue.complete(tx, [delivery]);
      const outcomes = new Int16Array(plan.automationUids.length).fill(OUTCOME.gaveUp);
      await this.log.record(tx, plan, mine.has(deliveryId) ? [{ deliveryId, outcomes }] : []);
    });
  }
}

/** What becomes of each payload for every automation of the plan. Other work gets its turn in between. */
async function outcomesOf(
  plan: CompiledPlan,
  payloads: Map<string, Buffer>,
): Promise<{ deliveryId: string; outcomes: Int16Array }[]> {
  let turnEnds = performance.now() + TURN_MS;
  const evaluated = [];
  for (const [deliveryId, bytes] of payloads) {
    const payload: unknown = JSON.parse(bytes.toString('utf8'));
    const outcomes = new Int16Array(plan.automationUids.length);
    for (let index = 0; index < outcomes.length; index++) {
      if (index % FILTERS_PER_LOOK === 0 && performance.now() > turnEnds) {
        await nextTurn();
        turnEnds = performance.now() + TURN_MS;
      }
      outcomes[index] = plan.outcome(index, payload);
    }
    evaluated.push({ deliveryId, outcomes });
  }
  return evaluated;
}
