import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { type Evaluation, type EvaluationPlan, OUTCOME } from '../domain/evaluation.js';
import {
  type Claim,
  longestWait,
  MAX_WEBHOOKS_LOOKED_AT,
  NIL_UUID,
  webhooksToClaim,
} from './evaluation-queue.js';

/** A delivery that matched, whose run somebody is about to start. */
export interface ClaimedMatch {
  deliveryId: string;
  automationUid: string;
  webhookUid: string;
  /** The webhook's name; null when it is gone. */
  webhookName: string | null;
  /** How often it was claimed: the fence of whoever holds it. */
  attempts: number;
}

/** What came of a match. */
export type MatchResult =
  { outcome: 'matched'; runId: string } | { outcome: 'not_matched' | 'error'; reason: string };

/**
 * What became of deliveries. That a filter did not match takes two bytes: of a thousand automations that a webhook has, one may
 * match. A match is a row of its own; it is also the queue of the runs that are to be started.
 */
@Injectable()
export class EvaluationLog {
  /** @param deliveries each with an outcome for every automation of the plan, in their order */
  async record(
    tx: Tx,
    plan: EvaluationPlan,
    deliveries: { deliveryId: string; outcomes: Int16Array }[],
  ): Promise<void> {
    if (plan.automationUids.length === 0 || deliveries.length === 0) return;
    const planId = await this.planId(tx, plan);
    const matches = deliveries.flatMap(({ deliveryId, outcomes }) =>
      plan.automationUids
        .filter((_, index) => outcomes[index] === OUTCOME.matched)
        .map((automationUid) => ({ deliveryId, automationUid })),
    );
    await tx.query(
      `WITH outcome AS (
         INSERT INTO delivery_outcomes (delivery_id, plan_id, outcomes)
         SELECT d.delivery_id, $1, d.outcomes::smallint[]
           FROM unnest($2::uuid[], $3::text[]) AS d (delivery_id, outcomes)
       )
       INSERT INTO delivery_evaluations (delivery_id, automation_uid, webhook_uid, outcome)
       SELECT m.delivery_id, m.automation_uid, $6, 'pending'
         FROM unnest($4::uuid[], $5::uuid[]) AS m (delivery_id, automation_uid)`,
      [
        planId,
        deliveries.map(({ deliveryId }) => deliveryId),
        deliveries.map(({ outcomes }) => `{${outcomes.join(',')}}`),
        matches.map(({ deliveryId }) => deliveryId),
        matches.map(({ automationUid }) => automationUid),
        plan.webhookUid,
      ],
    );
  }

  /** Takes the matches of several webhooks that have waited longest, of each about as many; one statement, like the claim of deliveries. */
  claimMatches(
    database: Queryable,
    { after, except, webhooks, perWebhook, leaseSeconds }: Claim,
  ): Promise<ClaimedMatch[]> {
    return database.query<ClaimedMatch>(
      `${webhooksToClaim('delivery_evaluations', `q.outcome = 'pending' AND q.available_at <= now()`)}, match AS (
         SELECT q.delivery_id, q.automation_uid FROM webhook w CROSS JOIN LATERAL (
           SELECT delivery_id, automation_uid FROM delivery_evaluations
            WHERE webhook_uid = w.webhook_uid AND outcome = 'pending' AND available_at <= now()
            ORDER BY available_at LIMIT $3 FOR UPDATE SKIP LOCKED) q
       ), claimed AS (
         UPDATE delivery_evaluations e
            SET attempts = attempts + 1, available_at = now() + make_interval(secs => $5)
           FROM match m WHERE e.delivery_id = m.delivery_id AND e.automation_uid = m.automation_uid
         RETURNING e.delivery_id, e.automation_uid, e.webhook_uid, e.attempts
       )
       SELECT c.delivery_id AS "deliveryId", c.automation_uid AS "automationUid", c.webhook_uid AS "webhookUid",
              w.name AS "webhookName", c.attempts
         FROM claimed c LEFT JOIN webhooks w ON w.uid = c.webhook_uid`,
      [after ?? NIL_UUID, except, perWebhook, webhooks, leaseSeconds],
    );
  }

  /** Takes matches off the queue. @returns the keys of those that were still the caller's: no other may start a run */
  async holdMatches(tx: Tx, matches: ClaimedMatch[]): Promise<Set<string>> {
    const rows = await tx.query<{ delivery_id: string; automation_uid: string }>(
      `SELECT e.delivery_id, e.automation_uid
         FROM delivery_evaluations e
         JOIN unnest($1::uuid[], $2::uuid[], $3::int[]) AS c (delivery_id, automation_uid, attempts)
           ON e.delivery_id = c.delivery_id AND e.automation_uid = c.automation_uid AND e.attempts = c.attempts
        WHERE e.outcome = 'pending'
          FOR UPDATE OF e`,
      columnsOf(matches),
    );
    return new Set(
      rows.map((row) => matchKey({ deliveryId: row.delivery_id, automationUid: row.automation_uid })),
    );
  }

  /** Keeps what came of matches that the transaction holds. */
  async settleMatches(tx: Tx, settled: { match: ClaimedMatch; result: MatchResult }[]): Promise<void> {
    await tx.query(
      `UPDATE delivery_evaluations e SET outcome = r.outcome, run_id = r.run_id, reason = r.reason
         FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[])
           AS r (delivery_id, automation_uid, outcome, run_id, reason)
        WHERE e.delivery_id = r.delivery_id AND e.automation_uid = r.automation_uid`,
      [
        settled.map(({ match }) => match.deliveryId),
        settled.map(({ match }) => match.automationUid),
        settled.map(({ result }) => result.outcome),
        settled.map(({ result }) => (result.outcome === 'matched' ? result.runId : null)),
        settled.map(({ result }) => (result.outcome === 'matched' ? null : result.reason)),
      ],
    );
  }

  /** For how many seconds the delivery whose matches wait for their runs has been waiting, of each webhook the one whose turn is next; 0 = none. */
  async lag(database: Queryable): Promise<number> {
    const rows = await database.query<{ lag: number }>(
      longestWait('delivery_evaluations', `q.outcome = 'pending'`, 'available_at'),
      [NIL_UUID, [], 1, MAX_WEBHOOKS_LOOKED_AT],
    );
    return rows[0]?.lag ?? 0;
  }

  /** Gives matches back, to be claimed after so many seconds. */
  async postponeMatches(tx: Tx, matches: ClaimedMatch[], seconds: number): Promise<void> {
    await tx.query(
      `UPDATE delivery_evaluations e SET available_at = now() + make_interval(secs => $4)
         FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS c (delivery_id, automation_uid, attempts)
        WHERE e.delivery_id = c.delivery_id AND e.automation_uid = c.automation_uid AND e.attempts = c.attempts
          AND e.outcome = 'pending'`,
      [...columnsOf(matches), seconds],
    );
  }

  /** What every automation made of the delivery; `[]` while it is queued, and when no automation selected its webhook. */
  async ofDelivery(database: Queryable, deliveryId: string): Promise<Evaluation[]> {
    const rows = await database.query<EvaluationRow>(
      `SELECT a.automation_uid, a.code, p.failed_paths[a.code + 1] AS failed_path, e.outcome, e.run_id, e.reason
         FROM delivery_outcomes d
         JOIN evaluation_plans p ON p.id = d.plan_id
        CROSS JOIN LATERAL unnest(p.automation_uids, d.outcomes) AS a (automation_uid, code)
         LEFT JOIN delivery_evaluations e ON e.delivery_id = d.delivery_id AND e.automation_uid = a.automation_uid
        WHERE d.delivery_id = $1
        ORDER BY a.code <> ${OUTCOME.matched}, a.automation_uid`,
      [deliveryId],
    );
    return rows.map(toEvaluation);
  }

  /** Forgets plans that no delivery refers to any more. @returns how many */
  async deleteUnusedPlans(tx: Tx, olderThanDays: number, limit: number): Promise<number> {
    const rows = await tx.query(
      `DELETE FROM evaluation_plans WHERE id IN (
         SELECT id FROM evaluation_plans p
          WHERE created_at < now() - make_interval(days => $1)
            AND NOT EXISTS (SELECT FROM delivery_outcomes o WHERE o.plan_id = p.id)
          LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING id`,
      [olderThanDays, limit],
    );
    return rows.length;
  }

  /** The row of the plan, which all replicas share. */
  private async planId(tx: Tx, plan: EvaluationPlan): Promise<string> {
    const parameters = [plan.webhookUid, plan.revision];
    const find = `SELECT id FROM evaluation_plans WHERE webhook_uid = $1 AND revision = $2 FOR KEY SHARE`;
    const [known] = await tx.query<{ id: string }>(find, parameters);
    if (known !== undefined) return known.id;
    await tx.query(
      `INSERT INTO evaluation_plans (webhook_uid, revision, id, automation_uids, failed_paths)
       VALUES ($1, $2, $3, $4::uuid[], $5::text[]) ON CONFLICT DO NOTHING`,
      [...parameters, newUuid(), plan.automationUids, plan.failedPaths],
    );
    const [made] = await tx.query<{ id: string }>(find, parameters);
    if (made === undefined) throw new Error('a plan was neither made nor there');
    return made.id;
  }
}

interface EvaluationRow {
  automation_uid: string;
  code: number;
  failed_path: string | null;
  outcome: Evaluation['outcome'] | null;
  run_id: string | null;
  reason: string | null;
}

function toEvaluation(row: EvaluationRow): Evaluation {
  const automationUid = row.automation_uid;
  switch (row.code) {
    case OUTCOME.matched:
      return {
        automationUid,
        outcome: row.outcome ?? 'pending',
        runId: row.run_id ?? undefined,
        reason: row.reason ?? undefined,
      };
    case OUTCOME.webhookDeleted:
      return { automationUid, outcome: 'not_matched', reason: 'webhook_deleted' };
    case OUTCOME.gaveUp:
      return { automationUid, outcome: 'error', reason: 'The delivery could not be evaluated' };
    default:
      return { automationUid, outcome: 'not_matched', failedPath: row.failed_path ?? undefined };
  }
}

/** What tells a match from all others. */
export const matchKey = ({
  deliveryId,
  automationUid,
}: {
  deliveryId: string;
  automationUid: string;
}): string => `${deliveryId}:${automationUid}`;

const columnsOf = (matches: ClaimedMatch[]): unknown[] => [
  matches.map(({ deliveryId }) => deliveryId),
  matches.map(({ automationUid }) => automationUid),
  matches.map(({ attempts }) => attempts),
];
