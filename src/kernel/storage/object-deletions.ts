import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../persistence/database.js';

/** The objects whose rows are gone: written by the triggers of the tables that name objects, in the transaction that removed the row. */
@Injectable()
export class ObjectDeletions {
  /**
   * Takes up to `limit` deletions that are due for the length of the transaction: committed, they are done; else they are due again.
   * Without those whose object a row names after all; they are done.
   */
  async take(tx: Tx, limit: number): Promise<{ taken: number; keys: string[] }> {
    const rows = await tx.query<{ object_key: string; is_named: boolean }>(
      `DELETE FROM object_deletions WHERE object_key IN (
         SELECT object_key FROM object_deletions WHERE due_at <= now()::timestamptz(3) ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING object_key,
                 EXISTS (SELECT 1 FROM object_references r WHERE r.object_key = object_deletions.object_key) AS is_named`,
      [limit],
    );
    return {
      taken: rows.length,
      keys: rows.filter((row) => !row.is_named).map((row) => row.object_key),
    };
  }

  /** Could not be carried out: due again in a while, so that others are not held up. */
  async postpone(tx: Tx, keys: string[]): Promise<void> {
    await tx.query(
      `INSERT INTO object_deletions (object_key, due_at)
       SELECT key, now() + interval '5 minutes' FROM unnest($1::text[]) key ON CONFLICT DO NOTHING`,
      [keys],
    );
  }

  /** Of the keys those that no row names and that are not to be deleted anyhow. */
  async orphansAmong(database: Queryable, keys: string[]): Promise<Set<string>> {
    const rows = await database.query<{ key: string }>(
      `SELECT key FROM unnest($1::text[]) key
        WHERE NOT EXISTS (SELECT 1 FROM object_references r WHERE r.object_key = key)
          AND NOT EXISTS (SELECT 1 FROM object_deletions d WHERE d.object_key = key)`,
      [keys],
    );
    return new Set(rows.map((row) => row.key));
  }
}
