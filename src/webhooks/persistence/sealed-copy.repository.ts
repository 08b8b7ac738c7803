import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import type { SealedRecord, SealedStore } from '../../kernel/security/reencryption.js';
import type { SealedValue } from '../../kernel/security/secret-box.js';
import { webhookSecretContext } from '../domain/webhook.js';

/** The signing secrets of webhooks by the key that they are encrypted with; their uids are those of the webhooks. */
@Injectable()
export class SealedCopyRepository implements SealedStore {
  readonly what = 'signing secrets of webhooks';
  readonly contextOf = webhookSecretContext;

  constructor(private readonly database: Database) {}

  /** Secrets under this key in the order of their webhooks. @param afterUid where the batch before ended */
  underKey(keyId: string, limit: number, afterUid: string | undefined): Promise<SealedRecord[]> {
    return this.database.query<SealedRecord>(
      `SELECT uid, sealed_secret AS ciphertext, sealed_key_id AS "keyId" FROM webhooks
        WHERE sealed_key_id = $1 AND ($2::uuid IS NULL OR uid > $2) ORDER BY uid LIMIT $3`,
      [keyId, afterUid ?? null, limit],
    );
  }

  /**
   * The same secrets under another key, each unless it has changed meanwhile. The version stays: what the ingress remembers is as
   * true as before.
   *
   * @returns how many
   */
  async reseal(tx: Tx, copies: { before: SealedRecord; after: SealedValue }[]): Promise<number> {
    const rows = await tx.query(
      `UPDATE webhooks w SET sealed_secret = n.ciphertext, sealed_key_id = n.key_id
         FROM unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::text[])
           AS n (uid, ciphertext_before, ciphertext, key_id)
        WHERE w.uid = n.uid AND w.sealed_secret = n.ciphertext_before
        RETURNING w.uid`,
      [
        copies.map(({ before }) => before.uid),
        copies.map(({ before }) => before.ciphertext),
        copies.map(({ after }) => after.ciphertext),
        copies.map(({ after }) => after.keyId),
      ],
    );
    return rows.length;
  }

  /** Secrets under none of these keys. */
  async countUnderOtherKeys(keyIds: string[]): Promise<number> {
    const rows = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM webhooks WHERE sealed_key_id <> ALL ($1::text[])`,
      [keyIds],
    );
    return rows[0]?.count ?? 0;
  }
}
