import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { EnvironmentShareView } from '../domain/environment-view.js';
import { OWNED, parametersOf } from './environment.read-model.js';

/** Of one environment. */
export const MAX_SHARES = 1_000;

const COLUMNS = 'uid, kind, grantee_uid, created_at';

/** Writes of shares. */
@Injectable()
export class EnvironmentShareRepository {
  /**
   * Lets the transactions that share one environment take turns, and keeps it from being deleted under them. False where the caller
   * owns no such environment.
   */
  async lockOwned(tx: Tx, caller: AccountCaller, environmentUid: string): Promise<boolean> {
    const [teamUid, ownerUid] = parametersOf(caller);
    const rows = await tx.query(
      `SELECT 1 FROM environments e WHERE ${OWNED} AND e.uid = $3 FOR NO KEY UPDATE`,
      [teamUid, ownerUid, environmentUid],
    );
    return rows.length === 1;
  }

  /** Whether there is such a user or team. */
  async granteeExists(tx: Tx, kind: 'user' | 'team', uid: string): Promise<boolean> {
    const rows = await tx.query(`SELECT 1 FROM ${kind === 'user' ? 'users' : 'teams'} WHERE uid = $1`, [uid]);
    return rows.length === 1;
  }

  /**
   * The share with a grantee, made unless it was there. The environment is locked by {@link lockOwned}. Undefined where it has as
   * many shares as it may have.
   */
  async insertGrant(
    tx: Tx,
    share: { uid: string; environmentUid: string; kind: 'user' | 'team'; granteeUid: string },
  ): Promise<EnvironmentShareView | undefined> {
    await tx.query(
      `INSERT INTO environment_shares (uid, environment_uid, kind, grantee_uid)
       SELECT $1::uuid, $2, $3, $4::uuid
        WHERE (SELECT count(*) FROM environment_shares WHERE environment_uid = $2) < ${String(MAX_SHARES)}
       ON CONFLICT (environment_uid, kind, grantee_uid) DO NOTHING`,
      [share.uid, share.environmentUid, share.kind, share.granteeUid],
    );
    const rows = await tx.query<EnvironmentShareView>(
      `SELECT ${COLUMNS} FROM environment_shares WHERE environment_uid = $1 AND kind = $2 AND grantee_uid = $3`,
      [share.environmentUid, share.kind, share.granteeUid],
    );
    return rows[0];
  }

  /**
   * A link in the place of the one that was there, whose visits go with it. The environment is locked by {@link lockOwned}. Undefined
   * where it has as many shares as it may have.
   */
  async replaceLink(
    tx: Tx,
    share: { uid: string; environmentUid: string; linkHash: Buffer },
  ): Promise<EnvironmentShareView | undefined> {
    await tx.query(`DELETE FROM environment_shares WHERE environment_uid = $1 AND kind = 'link'`, [
      share.environmentUid,
    ]);
    const rows = await tx.query<EnvironmentShareView>(
      `INSERT INTO environment_shares (uid, environment_uid, kind, link_hash)
       SELECT $1::uuid, $2, 'link', $3::bytea
        WHERE (SELECT count(*) FROM environment_shares WHERE environment_uid = $2) < ${String(MAX_SHARES)}
       RETURNING ${COLUMNS}`,
      [share.uid, share.environmentUid, share.linkHash],
    );
    return rows[0];
  }

  /** With the visits, where it is a link. False where there is no such share of an environment that the caller owns. */
  async delete(tx: Tx, caller: AccountCaller, environmentUid: string, uid: string): Promise<boolean> {
    const [teamUid, ownerUid] = parametersOf(caller);
    const rows = await tx.query(
      `DELETE FROM environment_shares s USING environments e
        WHERE ${OWNED} AND e.uid = $3 AND s.environment_uid = e.uid AND s.uid = $4 RETURNING s.uid`,
      [teamUid, ownerUid, environmentUid, uid],
    );
    return rows.length === 1;
  }

  /** Remembers that the visitor has opened the environment's link. False where the hash is not that of its link. */
  async recordVisit(tx: Tx, environmentUid: string, linkHash: Buffer, visitorUid: string): Promise<boolean> {
    // The lock waits for whoever revokes the link at this moment; a revoked link is not found.
    const rows = await tx.query(
      `WITH link AS (
         SELECT uid FROM environment_shares
          WHERE environment_uid = $1 AND kind = 'link' AND link_hash = $2 FOR KEY SHARE
       ), visit AS (
         INSERT INTO environment_link_visits (share_uid, visitor_uid) SELECT uid, $3 FROM link ON CONFLICT DO NOTHING
       )
       SELECT uid FROM link`,
      [environmentUid, linkHash, visitorUid],
    );
    return rows.length === 1;
  }
}
