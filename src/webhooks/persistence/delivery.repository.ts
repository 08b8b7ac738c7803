import { Injectable } from '@nestjs/common';
import type { DeliveryIdentity, DeliveryStatus } from '../domain/delivery.js';
import { IngressConnection } from './ingress-connection.js';

/** Every budget is one of the last 60 seconds. */
const BUDGET_WINDOW = `interval '60 seconds'`;

/** What is to be recorded of one request. */
export interface DeliveryRecord {
  id: string;
  webhookUid: string;
  /** Of the webhook that the request was judged by. */
  webhookVersion: string;
  /** As far as the process can tell: an `accepted` one may turn out to be a duplicate. Undefined = spends the budget and is not logged. */
  status: Exclude<DeliveryStatus, 'duplicate'> | undefined;
  /** With `accepted`. The fingerprint is 128 bits of a hash over it. */
  identity?: DeliveryIdentity & { fingerprint: string };
  sizeBytes: number;
  headers: Record<string, string>;
  /** With `accepted`. */
  payload?: Buffer;
  /** The budget that this request spends, and how much may be spent in a minute. */
  budget?: { key: string; perMinute: number };
}

export type Recording =
  | { outcome: 'recorded' }
  | { outcome: 'duplicate'; duplicateOf: string }
  | { outcome: 'over_budget'; retryAfterMs: number }
  /** The webhook is not any more what the request was judged by, and nothing was recorded. */
  | { outcome: 'stale' };

/**
 * Records deliveries, many in one statement, which is a transaction of its own: one round trip and one commit for all of them.
 *
 * In the order of the statement: what was judged by an outdated webhook drops out; budgets are spent; identities are claimed; the log
 * and the queue of evaluation are written.
 *
 * - A budget is one row with the times of the last minute. Its lock makes those who spend it take turns, and what they then see is the
 *   row as it is, not as it was when their statement began: the sliding minute is exact over all replicas.
 * - An identity that exists is updated to itself, because only that answers whose it is when the other transaction committed a
 *   moment ago: after the beginning of this statement, so that its snapshot does not show it.
 * - Locks are taken in the order of their keys, first all budgets and then all identities, so that two batches cannot block each
 *   other for good.
 */
@Injectable()
export class DeliveryRepository {
  constructor(private readonly connection: IngressConnection) {}

  /** All or nothing. @returns what became of each, in the order of the records */
  async record(records: DeliveryRecord[]): Promise<Recording[]> {
    const payloads = records.map(({ payload }) => payload ?? Buffer.alloc(0));
    const rows = await this.connection.query<ExceptionRow>({
      name: 'record_deliveries',
      text: RECORD,
      values: [
        plainArray(records.map(({ id }) => id)),
        plainArray(records.map(({ webhookUid }) => webhookUid)),
        plainArray(records.map(({ webhookVersion }) => webhookVersion)),
        plainArray(records.map(({ status }) => status)),
        plainArray(records.map(({ identity }) => identity?.kind)),
        records.map(({ identity }) => identity?.value),
        plainArray(records.map(({ identity }) => identity?.fingerprint)),
        plainArray(records.map(({ sizeBytes }) => sizeBytes)),
        records.map(({ headers }) => JSON.stringify(headers)),
        plainArray(records.map(({ payload }) => payload?.length)),
        plainArray(records.map(({ budget }) => budget?.key)),
        plainArray(records.map(({ budget }) => budget?.perMinute)),
        Buffer.concat(payloads),
      ],
    });
    const recordings = records.map((): Recording => ({ outcome: 'recorded' }));
    for (const row of rows) recordings[row.position - 1] = toRecording(row);
    return recordings;
  }
}

/** An array's text form for elements that need no quotes: pg would look at each character of each. */
const plainArray = (elements: (string | number | undefined)[]): string =>
  `{${elements.map((element) => element ?? 'NULL').join(',')}}`;

/** What was not simply recorded: most batches have none. */
interface ExceptionRow {
  /** Of the record, from 1 on. */
  position: number;
  outcome: Exclude<Recording['outcome'], 'recorded'>;
  duplicate_of: string | null;
  retry_after_ms: number | null;
}

function toRecording({ outcome, duplicate_of, retry_after_ms }: ExceptionRow): Recording {
  switch (outcome) {
    case 'duplicate':
      return { outcome, duplicateOf: duplicate_of ?? '' };
    case 'over_budget':
      return { outcome, retryAfterMs: Math.max(retry_after_ms ?? 0, 1) };
    case 'stale':
      return { outcome };
  }
}

// The columns come as arrays, which cost a third of what rows in JSON would, and the payloads as one string of bytes: pg would write an
// array of bytea out in hexadecimal digits.
const RECORD = `
  WITH input AS MATERIALIZED (
    SELECT i.*, sum(payload_bytes) OVER (ROWS UNBOUNDED PRECEDING) - payload_bytes + 1 AS payload_from,
           (SELECT w.enabled FROM webhooks w WHERE w.uid = i.webhook_uid AND w.version = i.version) AS is_current
      FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::integer[], $9::jsonb[],
                  $10::integer[], $11::uuid[], $12::integer[])
           WITH ORDINALITY AS i(id, webhook_uid, version, status, identity_kind, identity_value, fingerprint, size_bytes, headers,
                                payload_bytes, budget_key, per_minute, position)
  ), demand AS MATERIALIZED (
    SELECT budget_key, max(per_minute) AS per_minute, count(*)::integer AS wanted
      FROM input WHERE is_current AND budget_key IS NOT NULL GROUP BY budget_key
  ), spent AS (
    INSERT INTO webhook_budgets AS budget (key, spent_at, granted)
    SELECT budget_key, array_fill(clock_timestamp(), ARRAY[least(wanted, per_minute)]), least(wanted, per_minute)
      FROM demand ORDER BY budget_key
    ON CONFLICT (key) DO UPDATE SET (spent_at, granted) = (
      SELECT recent.spent_at || array_fill(recent.at, ARRAY[room.granted]), room.granted
        FROM (
          SELECT moment.at,
                 budget.spent_at[width_bucket(moment.at - ${BUDGET_WINDOW}, budget.spent_at) + 1 :] AS spent_at
            FROM (SELECT clock_timestamp() AS at) AS moment
        ) AS recent
        CROSS JOIN LATERAL (
          SELECT greatest(least(d.wanted, d.per_minute - cardinality(recent.spent_at)), 0) AS granted
            FROM demand d WHERE d.budget_key = excluded.key
        ) AS room)
    RETURNING key, spent_at, granted
  ), admitted AS MATERIALIZED (
    SELECT i.position, i.id, i.webhook_uid, i.status, i.fingerprint, i.per_minute, s.spent_at,
           i.budget_key IS NULL OR row_number() OVER (PARTITION BY i.budget_key ORDER BY i.position) <= s.granted AS is_within
      FROM input i LEFT JOIN spent s ON s.key = i.budget_key
     WHERE i.is_current
  ), identities AS (
    INSERT INTO webhook_identities AS known (webhook_uid, fingerprint, delivery_id)
    SELECT DISTINCT ON (webhook_uid, fingerprint) webhook_uid, fingerprint, id
      FROM admitted WHERE is_within AND status = 'accepted'
     ORDER BY webhook_uid, fingerprint, position
    ON CONFLICT (webhook_uid, fingerprint) DO UPDATE SET delivery_id = known.delivery_id
    RETURNING webhook_uid, fingerprint, delivery_id
  ), judged AS MATERIALIZED (
    SELECT a.position, a.id, a.webhook_uid, a.status, a.per_minute, a.spent_at, a.is_within,
           nullif(k.delivery_id, a.id) AS duplicate_of
      FROM admitted a
      LEFT JOIN identities k ON k.webhook_uid = a.webhook_uid AND k.fingerprint = a.fingerprint
  ), logged AS (
    INSERT INTO webhook_deliveries (
      id, webhook_uid, status, duplicate_of, identity_kind, identity_value, size_bytes, received_at, headers, payload)
    SELECT j.id, j.webhook_uid, CASE WHEN j.duplicate_of IS NULL THEN j.status ELSE 'duplicate' END, j.duplicate_of,
           i.identity_kind, i.identity_value, i.size_bytes, now(), i.headers,
           CASE WHEN j.duplicate_of IS NULL AND j.status = 'accepted'
                THEN substring($13::bytea FROM i.payload_from::integer FOR i.payload_bytes) END
      FROM judged j JOIN input i USING (position) WHERE j.is_within AND j.status IS NOT NULL
  ), queued AS (
    INSERT INTO webhook_evaluation_queue (webhook_uid, delivery_id, available_at)
    SELECT webhook_uid, id, now() FROM judged WHERE is_within AND status = 'accepted' AND duplicate_of IS NULL
  )
  SELECT i.position::integer,
         CASE WHEN j.position IS NULL THEN 'stale'
              WHEN j.is_within THEN 'duplicate'
              ELSE 'over_budget' END AS outcome,
         j.duplicate_of,
         -- There is room again when the oldest of the last so many is older than the window.
         CASE WHEN NOT j.is_within THEN 1000 * extract(epoch FROM
           j.spent_at[cardinality(j.spent_at) - j.per_minute + 1] + ${BUDGET_WINDOW} - clock_timestamp())::float8
         END AS retry_after_ms
    FROM input i LEFT JOIN judged j ON j.position = i.position
   WHERE j.is_within IS NOT TRUE OR j.duplicate_of IS NOT NULL`;
