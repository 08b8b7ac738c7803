import { Injectable } from '@nestjs/common';
import type { Ownership } from '../../identities/index.js';
import { Database, type Queryable, type Tx } from '../../kernel/persistence/database.js';
import type { SealedRecord, SealedStore } from '../../kernel/security/reencryption.js';
import type { SealedValue } from '../../kernel/security/secret-box.js';
import { secretContext, type SecretView } from '../domain/secret-view.js';

/** Of a team, and of one person. */
const MAX_SECRETS = 1000;

const VIEW = 'name, team_uid, owner_uid, created_at, updated_at';

/** A secret as it is stored. */
export interface SealedSecret extends SealedRecord {
  name: string;
}

interface SealedRow {
  uid: string;
  name: string;
  ciphertext: Buffer;
  key_id: string;
}

/** The table of secrets. It knows ciphertexts alone. */
@Injectable()
export class SecretRepository implements SealedStore {
  readonly what = 'secrets';
  readonly contextOf = secretContext;

  constructor(private readonly database: Database) {}

  /** Creates of one owner take turns until the transaction ends, so that no two of them count the same rows. */
  async insert(
    tx: Tx,
    owner: Ownership,
    secret: SealedSecret,
  ): Promise<SecretView | 'name_taken' | 'limit_reached'> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('secrets ' || $1, 0))`, [
      owner.teamUid ?? owner.ownerUid,
    ]);
    const rows = await tx.query<SecretView & { is_full: boolean; inserted: boolean }>(
      `WITH present AS (
         SELECT count(*) >= $7 AS is_full, coalesce(bool_or(name = $4), false) AS is_taken
           FROM secrets WHERE team_uid = $2 OR owner_uid = $3
       ), inserted AS (
         INSERT INTO secrets (uid, team_uid, owner_uid, name, ciphertext, key_id)
         SELECT $1::uuid, $2::uuid, $3::uuid, $4::text, $5::bytea, $6::text
           FROM present WHERE NOT is_full AND NOT is_taken
         ON CONFLICT DO NOTHING
         RETURNING ${VIEW}
       )
       SELECT inserted.*, inserted.name IS NOT NULL AS inserted, is_full AND NOT is_taken AS is_full
         FROM present LEFT JOIN inserted ON true`,
      [secret.uid, owner.teamUid, owner.ownerUid, secret.name, secret.ciphertext, secret.keyId, MAX_SECRETS],
    );
    const row = rows[0];
    if (row?.inserted) return row;
    return row?.is_full ? 'limit_reached' : 'name_taken';
  }

  /** The uid that a new value has to be encrypted for; the row stays as it is until the transaction ends. */
  async lock(tx: Tx, owner: Ownership, name: string): Promise<string | undefined> {
    const rows = await tx.query<{ uid: string }>(
      `SELECT uid FROM secrets WHERE (team_uid = $1 OR owner_uid = $2) AND name = $3 FOR UPDATE`,
      [owner.teamUid, owner.ownerUid, name],
    );
    return rows[0]?.uid;
  }

  async replaceValue(tx: Tx, uid: string, value: SealedValue): Promise<SecretView | undefined> {
    const rows = await tx.query<SecretView>(
      `UPDATE secrets SET ciphertext = $2, key_id = $3, updated_at = now() WHERE uid = $1 RETURNING ${VIEW}`,
      [uid, value.ciphertext, value.keyId],
    );
    return rows[0];
  }

  /** @returns whether there was one */
  async delete(tx: Tx, owner: Ownership, name: string): Promise<boolean> {
    const rows = await tx.query(
      `DELETE FROM secrets WHERE (team_uid = $1 OR owner_uid = $2) AND name = $3 RETURNING uid`,
      [owner.teamUid, owner.ownerUid, name],
    );
    return rows.length > 0;
  }

  /** By name, a team's before a person's of the same name. */
  list(owners: { teamUid: string | null; ownerUid: string | null }): Promise<SecretView[]> {
    return this.database.query<SecretView>(
      `SELECT ${VIEW} FROM secrets WHERE team_uid = $1 OR owner_uid = $2
        ORDER BY name, team_uid NULLS LAST LIMIT $3`,
      [owners.teamUid, owners.ownerUid, 2 * MAX_SECRETS],
    );
  }

  async ofTeam(database: Queryable, teamUid: string, names: string[]): Promise<SealedSecret[]> {
    const rows = await database.query<SealedRow>(
      `SELECT uid, name, ciphertext, key_id FROM secrets WHERE team_uid = $1 AND name = ANY ($2::text[])`,
      [teamUid, names],
    );
    return rows.map(toSealedSecret);
  }

  async exists(database: Queryable, teamUid: string, name: string): Promise<boolean> {
    const rows = await database.query(`SELECT 1 FROM secrets WHERE team_uid = $1 AND name = $2`, [
      teamUid,
      name,
    ]);
    return rows.length > 0;
  }

  /** Secrets under this key in the order of their uids. @param afterUid where the batch before ended */
  async underKey(keyId: string, limit: number, afterUid: string | undefined): Promise<SealedSecret[]> {
    const rows = await this.database.query<SealedRow>(
      `SELECT uid, name, ciphertext, key_id FROM secrets
        WHERE key_id = $1 AND ($2::uuid IS NULL OR uid > $2) ORDER BY uid LIMIT $3`,
      [keyId, afterUid ?? null, limit],
    );
    return rows.map(toSealedSecret);
  }

  /**
   * The same values under another key, each unless it has changed meanwhile; `updated_at` stays, as nobody has edited them.
   *
   * @returns how many
   */
  async reseal(tx: Tx, secrets: { before: SealedRecord; after: SealedValue }[]): Promise<number> {
    const rows = await tx.query(
      `UPDATE secrets s SET ciphertext = n.ciphertext, key_id = n.key_id
         FROM unnest($1::uuid[], $2::bytea[], $3::text[], $4::bytea[], $5::text[])
           AS n (uid, ciphertext_before, key_id_before, ciphertext, key_id)
        WHERE s.uid = n.uid AND s.key_id = n.key_id_before AND s.ciphertext = n.ciphertext_before
        RETURNING s.uid`,
      [
        secrets.map(({ before }) => before.uid),
        secrets.map(({ before }) => before.ciphertext),
        secrets.map(({ before }) => before.keyId),
        secrets.map(({ after }) => after.ciphertext),
        secrets.map(({ after }) => after.keyId),
      ],
    );
    return rows.length;
  }

  /** Secrets under none of these keys. */
  async countUnderOtherKeys(keyIds: string[]): Promise<number> {
    const rows = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM secrets WHERE key_id <> ALL ($1::text[])`,
      [keyIds],
    );
    return rows[0]?.count ?? 0;
  }
}

const toSealedSecret = (row: SealedRow): SealedSecret => ({
  uid: row.uid,
  name: row.name,
  ciphertext: row.ciphertext,
  keyId: row.key_id,
});
