import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

/** A queued delivery that somebody holds until its lease is over. */
export interface ClaimedDelivery {
  deliveryId: string;
  webhookUid: string;
  /** How often it was claimed: the fence of whoever holds it. */
  attempts: number;
}

/** Which webhooks somebody claims from, and how much. */
export interface Claim {
  /** The webhook that the last claim ended at: turns go round in the order of their uids. Undefined = from the beginning. */
  after: string | undefined;
  /** Webhooks to leave out. */
  except: string[];
  webhooks: number;
  perWebhook: number;
  leaseSeconds: number;
}

/**
 * The webhooks with something to claim, at most `$4` of them after `$1` and without those of `$2`: the index is walked from webhook to
 * webhook, so that what is queued for one costs the others nothing.
 *
 * @param available a condition on rows of the table as `q`
 */
export const webhooksToClaim = (table: string, available: string): string => `
  WITH RECURSIVE walk AS (
    (SELECT webhook_uid FROM ${table} q WHERE webhook_uid > $1 AND ${available} ORDER BY webhook_uid LIMIT 1)
    UNION ALL
    SELECT (SELECT q.webhook_uid FROM ${table} q WHERE q.webhook_uid > w.webhook_uid AND ${available}
             ORDER BY q.webhook_uid LIMIT 1)
      FROM walk w WHERE w.webhook_uid IS NOT NULL
  ), webhook AS (
    SELECT webhook_uid FROM walk WHERE webhook_uid IS NOT NULL AND NOT webhook_uid = ANY ($2::uuid[]) LIMIT $4
  )`;

/**
 * For how many seconds the delivery has been waiting that has waited longest among the first of each webhook; 0 = none waits. The
 * parameters are those of {@link webhooksToClaim}, and `$3` is 1.
 */
export const longestWait = (table: string, waiting: string, order: string): string => `
  ${webhooksToClaim(table, waiting)}
  SELECT coalesce(extract(epoch FROM max(now() - d.received_at)), 0)::float8 AS lag
    FROM webhook w
   CROSS JOIN LATERAL (
         SELECT delivery_id FROM ${table} q WHERE webhook_uid = w.webhook_uid AND ${waiting} ORDER BY ${order} LIMIT $3) q
    JOIN webhook_deliveries d ON d.id = q.delivery_id`;

/** How many webhooks a look at a whole queue takes in. */
export const MAX_WEBHOOKS_LOOKED_AT = 10_000;

/** No webhook is before this one. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/** Accepted deliveries that wait to be evaluated. */
@Injectable()
export class EvaluationQueue {
  /**
   * Takes the earliest deliveries of several webhooks, of each about as many. Whoever holds one completes or postpones it before the
   * lease ends; after that somebody else may claim it. It is one statement, which outside of a transaction is one by itself.
   */
  claim(
    database: Queryable,
    { after, except, webhooks, perWebhook, leaseSeconds }: Claim,
  ): Promise<ClaimedDelivery[]> {
    return database.query<ClaimedDelivery>(
      `${webhooksToClaim('webhook_evaluation_queue', 'q.available_at <= now()')}, delivery AS (
         SELECT q.webhook_uid, q.delivery_id FROM webhook w CROSS JOIN LATERAL (
           SELECT webhook_uid, delivery_id FROM webhook_evaluation_queue
            WHERE webhook_uid = w.webhook_uid AND available_at <= now()
            ORDER BY delivery_id LIMIT $3 FOR UPDATE SKIP LOCKED) q
       )
       UPDATE webhook_evaluation_queue q
          SET attempts = attempts + 1, available_at = now() + make_interval(secs => $5)
         FROM delivery d WHERE q.webhook_uid = d.webhook_uid AND q.delivery_id = d.delivery_id
       RETURNING q.webhook_uid AS "webhookUid", q.delivery_id AS "deliveryId", q.attempts`,
      [after ?? NIL_UUID, except, perWebhook, webhooks, leaseSeconds],
    );
  }

  /** The bytes of claimed deliveries; those that are in the log no more are left out. */
  async payloads(database: Queryable, deliveryIds: string[]): Promise<Map<string, Buffer>> {
    const rows = await database.query<{ id: string; payload: Buffer }>(
      'SELECT id, payload FROM webhook_deliveries WHERE id = ANY ($1::uuid[]) AND payload IS NOT NULL',
      [deliveryIds],
    );
    return new Map(rows.map(({ id, payload }) => [id, payload]));
  }

  /** The payload of an accepted delivery to a webhook of the team. */
  async storedPayload(
    database: Queryable,
    teamUid: string,
    deliveryId: string,
  ): Promise<{ webhookUid: string; payload: Buffer } | undefined> {
    const rows = await database.query<{ webhookUid: string; payload: Buffer }>(
      `SELECT d.webhook_uid AS "webhookUid", d.payload FROM webhook_deliveries d JOIN webhooks w ON w.uid = d.webhook_uid
        WHERE d.id = $1 AND w.team_uid = $2 AND d.payload IS NOT NULL`,
      [deliveryId, teamUid],
    );
    return rows[0];
  }

  /** Takes deliveries off the queue. @returns those that were still the caller's: what it does about the others must not count */
  async complete(tx: Tx, claimed: ClaimedDelivery[]): Promise<Set<string>> {
    const rows = await tx.query<{ delivery_id: string }>(
      `DELETE FROM webhook_evaluation_queue q
        USING unnest($1::uuid[], $2::uuid[], $3::int[]) AS c (webhook_uid, delivery_id, attempts)
        WHERE q.webhook_uid = c.webhook_uid AND q.delivery_id = c.delivery_id AND q.attempts = c.attempts
       RETURNING q.delivery_id`,
      columnsOf(claimed),
    );
    return new Set(rows.map((row) => row.delivery_id));
  }

  /** For how many seconds the delivery that waits longest has been waiting, whether somebody holds it or not; 0 = none waits. */
  async lag(database: Queryable): Promise<number> {
    const rows = await database.query<{ lag: number }>(
      longestWait('webhook_evaluation_queue', 'true', 'delivery_id'),
      [NIL_UUID, [], 1, MAX_WEBHOOKS_LOOKED_AT],
    );
    return rows[0]?.lag ?? 0;
  }

  /** Gives deliveries back, to be claimed after so many seconds. */
  async postpone(tx: Tx, claimed: ClaimedDelivery[], seconds: number): Promise<void> {
    await tx.query(
      `UPDATE webhook_evaluation_queue q SET available_at = now() + make_interval(secs => $4)
         FROM unnest($1::uuid[], $2::uuid[], $3::int[]) AS c (webhook_uid, delivery_id, attempts)
        WHERE q.webhook_uid = c.webhook_uid AND q.delivery_id = c.delivery_id AND q.attempts = c.attempts`,
      [...columnsOf(claimed), seconds],
    );
  }
}

const columnsOf = (claimed: ClaimedDelivery[]): unknown[] => [
  claimed.map(({ webhookUid }) => webhookUid),
  claimed.map(({ deliveryId }) => deliveryId),
  claimed.map(({ attempts }) => attempts),
];
