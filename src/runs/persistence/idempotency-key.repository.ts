import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

/** What is remembered of the request that a key was first sent with. */
export interface RememberedRequest {
  runId: string;
  requestHash: Buffer;
  atCapacity: boolean;
}

/** How long a key stands for its first request. */
const LIFE_HOURS = 24;
const SWEEP_BATCH = 500;

/** The idempotency keys of requests that created runs. The run's `origin_key` makes the run unique; a row here says of which request. */
@Injectable()
export class IdempotencyKeyRepository {
  async find(database: Queryable, originKey: string): Promise<RememberedRequest | undefined> {
    const rows = await database.query<{ run_id: string; request_hash: Buffer; at_capacity: boolean }>(
      `SELECT run_id, request_hash, at_capacity FROM run_idempotency_keys WHERE origin_key = $1 AND expires_at > now()`,
      [originKey],
    );
    const row = rows[0];
    return row && { runId: row.run_id, requestHash: row.request_hash, atCapacity: row.at_capacity };
  }

  async insert(tx: Tx, originKey: string, request: RememberedRequest): Promise<void> {
    await tx.query(
      `INSERT INTO run_idempotency_keys (origin_key, run_id, request_hash, at_capacity, expires_at)
       VALUES ($1, $2, $3, $4, now() + make_interval(hours => ${String(LIFE_HOURS)}))`,
      [originKey, request.runId, request.requestHash, request.atCapacity],
    );
  }

  /**
   * Forgets keys that have expired: their runs keep nothing of them, so that the keys can be used again.
   *
   * @param originKey this one alone
   */
  async release(tx: Tx, originKey: string | null = null): Promise<void> {
    await tx.query(
      `WITH expired AS (
         SELECT origin_key FROM run_idempotency_keys
          WHERE expires_at <= now() AND ($1::text IS NULL OR origin_key = $1)
          ORDER BY expires_at LIMIT ${String(SWEEP_BATCH)} FOR UPDATE SKIP LOCKED
       ), released AS (
         DELETE FROM run_idempotency_keys k USING expired e WHERE k.origin_key = e.origin_key RETURNING k.origin_key, k.run_id
       )
       UPDATE runs r SET origin_key = NULL FROM released k WHERE r.id = k.run_id AND r.origin_key = k.origin_key`,
      [originKey],
    );
  }
}
