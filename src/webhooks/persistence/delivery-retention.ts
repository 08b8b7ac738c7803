import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { DeliveryStatus } from '../domain/delivery.js';
import { REJECTED_STATUSES } from '../domain/delivery-log.js';

/** What is kept of a webhook's log: the latest so many and all of so many days. Rejected deliveries are counted apart. */
const KEPT_COUNT = 50;
const KEPT_DAYS = 7;
/** Rejected deliveries that a webhook keeps at most, however young: whoever knows its URL can make them. */
export const MAX_REJECTED = 10_000;

const NIL_UUID = '00000000-0000-0000-0000-000000000000';
const textArray = (values: readonly string[]): string =>
  `ARRAY[${values.map((value) => `'${value}'`).join(', ')}]`;

/** The place of the so-manieth latest delivery of webhook s.uid with one of the statuses of c; no row when it has not so many. */
const nthLatest = (count: number): string => `
  (SELECT d.received_at, d.id FROM unnest(c.statuses) AS lane (status) CROSS JOIN LATERAL (
     SELECT received_at, id FROM webhook_deliveries
      WHERE webhook_uid = s.uid AND status = lane.status ORDER BY received_at DESC, id DESC LIMIT ${String(count)}) AS d
    ORDER BY d.received_at DESC, d.id DESC OFFSET ${String(count - 1)} LIMIT 1)`;

/**
 * Where the kept part of a log begins, for each class of statuses, of those webhooks ($1) that have older rows than that. A row of the
 * log is older when its (received_at, id) is less.
 */
const OVERDUE = `
  WITH class (statuses, is_capped) AS (
    VALUES (${textArray(['accepted', 'duplicate'])}, false), (${textArray(REJECTED_STATUSES)}, true)
  ), scope AS (
    SELECT u.uid, w.uid IS NOT NULL AS is_known, w.uid IS NOT NULL AND w.deleted_at IS NULL AS is_live,
           now() - interval '${String(KEPT_DAYS)} days' AS young_from
      FROM unnest($1::uuid[]) AS u (uid) LEFT JOIN webhooks w ON w.uid = u.uid
  ), edge AS (
    SELECT s.uid, c.statuses, least(k.received_at, s.young_from) AS received_at,
           CASE WHEN k.received_at < s.young_from THEN k.id ELSE '${NIL_UUID}' END AS id
      FROM scope s CROSS JOIN class c CROSS JOIN LATERAL ${nthLatest(KEPT_COUNT)} AS k
     WHERE s.is_live
    UNION ALL
    SELECT s.uid, c.statuses, k.received_at, k.id
      FROM scope s CROSS JOIN class c CROSS JOIN LATERAL ${nthLatest(MAX_REJECTED)} AS k
     WHERE c.is_capped
    UNION ALL
    -- Of a deleted webhook nothing is kept for its number; where its factory is gone as well, nothing at all.
    SELECT s.uid, c.statuses, CASE WHEN s.is_known THEN s.young_from ELSE 'infinity' END, '${NIL_UUID}'
      FROM scope s CROSS JOIN class c WHERE NOT s.is_live
  )
  SELECT e.uid AS "webhookUid", lane.status, e.received_at::text AS "receivedAt", e.id
    FROM edge e CROSS JOIN LATERAL unnest(e.statuses) AS lane (status)
   WHERE EXISTS (
     SELECT FROM webhook_deliveries d
      WHERE d.webhook_uid = e.uid AND d.status = lane.status AND (d.received_at, d.id) < (e.received_at, e.id))`;

/** A part of a log that is older than what is kept of it. */
export interface OverdueDeliveries {
  webhookUid: string;
  status: DeliveryStatus;
  /** With `id` the place at which the kept part begins; as text, as it may be `infinity`. */
  receivedAt: string;
  id: string;
}

/** The tables whose webhooks are walked through. */
type WebhookTable = 'webhook_deliveries' | 'webhook_identities';

/** What is thrown away of the tables that deliveries fill. Every batch is small, and passes over rows that somebody else holds. */
@Injectable()
export class DeliveryRetention {
  /** The next webhooks of the table, in the order of their uids: one probe of an index each, however many rows they have. */
  async webhooksOf(
    database: Queryable,
    table: WebhookTable,
    after: string | undefined,
    limit: number,
  ): Promise<string[]> {
    const next = (uid: string): string =>
      `(SELECT webhook_uid FROM ${table} WHERE webhook_uid > ${uid} ORDER BY webhook_uid LIMIT 1)`;
    const rows = await database.query<{ uid: string }>(
      `WITH RECURSIVE present (uid) AS (
         SELECT ${next('$1::uuid')} UNION ALL SELECT ${next('p.uid')} FROM present p WHERE p.uid IS NOT NULL
       )
       SELECT uid FROM present WHERE uid IS NOT NULL LIMIT $2`,
      [after ?? NIL_UUID, limit],
    );
    return rows.map(({ uid }) => uid);
  }

  /** What is not to be kept of the logs of these webhooks. */
  overdue(database: Queryable, webhookUids: string[]): Promise<OverdueDeliveries[]> {
    return database.query<OverdueDeliveries>(OVERDUE, [webhookUids]);
  }

  /**
   * Deletes the oldest of them; those that still wait for their evaluation, or for a run of it, stay. One part in a statement, so that
   * PostgreSQL knows how many rows it has, and reads them in the order of the index.
   *
   * @returns how many; fewer than `limit` when no more are to go
   */
  async trim(
    tx: Tx,
    { webhookUid, status, receivedAt, id }: OverdueDeliveries,
    limit: number,
  ): Promise<number> {
    const rows = await tx.query(
      `DELETE FROM webhook_deliveries WHERE id IN (
         SELECT d.id FROM webhook_deliveries d
          WHERE d.webhook_uid = $1 AND d.status = $2 AND (d.received_at, d.id) < ($3::timestamptz, $4::uuid)
            AND NOT EXISTS (
              SELECT FROM webhook_evaluation_queue q WHERE q.webhook_uid = d.webhook_uid AND q.delivery_id = d.id)
            AND NOT EXISTS (
              SELECT FROM delivery_evaluations v WHERE v.delivery_id = d.id AND v.outcome = 'pending')
          ORDER BY d.received_at, d.id LIMIT $5 FOR UPDATE OF d SKIP LOCKED)
       RETURNING id`,
      [webhookUid, status, receivedAt, id, limit],
    );
    return rows.length;
  }

  /** Forgets the identities of those of these webhooks that take deliveries no more. @returns how many; fewer than `limit` when no more are to go */
  async forgetIdentities(tx: Tx, webhookUids: string[], limit: number): Promise<number> {
    const rows = await tx.query(
      `DELETE FROM webhook_identities WHERE (webhook_uid, fingerprint) IN (
         SELECT i.webhook_uid, i.fingerprint
           FROM unnest($1::uuid[]) AS u (uid) JOIN webhook_identities i ON i.webhook_uid = u.uid
          WHERE NOT EXISTS (SELECT FROM webhooks w WHERE w.uid = u.uid AND w.deleted_at IS NULL)
          LIMIT $2 FOR UPDATE OF i SKIP LOCKED)
       RETURNING fingerprint`,
      [webhookUids, limit],
    );
    return rows.length;
  }

  /** Drops budgets of which nothing was spent for two minutes: whoever spends them next begins anew. @returns how many */
  async dropBudgets(tx: Tx, limit: number): Promise<number> {
    const rows = await tx.query(
      `DELETE FROM webhook_budgets WHERE key IN (
         SELECT key FROM webhook_budgets
          WHERE coalesce(spent_at[cardinality(spent_at)], '-infinity') < now() - interval '2 minutes'
          LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING key`,
      [limit],
    );
    return rows.length;
  }
}
