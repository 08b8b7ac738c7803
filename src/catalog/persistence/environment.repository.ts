import { Injectable } from '@nestjs/common';
import type { AccountCaller, Ownership } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { EnvironmentConfig } from '../domain/environment-config.js';
import { OWNED, parametersOf } from './environment.read-model.js';

/** Of a team, and of a person. */
export const MAX_ENVIRONMENTS = 1_000;

export interface EnvironmentToInsert {
  uid: string;
  owner: Ownership;
  config: EnvironmentConfig;
  creatorUid: string;
}

/** Writes of environments. Each judges in its own statement whether the caller owns what it changes. */
@Injectable()
export class EnvironmentRepository {
  /** False where the owner has as many as they may have. */
  async insert(tx: Tx, environment: EnvironmentToInsert): Promise<boolean> {
    const { teamUid, ownerUid } = environment.owner;
    // Two that count at the same time would both find room: they take turns. A statement of its own, since a statement counts what
    // had been committed when it began.
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('environments of ' || $1::text, 0))`, [
      teamUid ?? ownerUid,
    ]);
    const rows = await tx.query(
      `INSERT INTO environments (uid, team_uid, owner_uid, name, config, creator_uid, last_editor_uid)
       SELECT $1, $2::uuid, $3::uuid, $4, $5::jsonb, $6::uuid, $6::uuid
        WHERE (SELECT count(*) FROM environments WHERE team_uid = $2 OR owner_uid = $3) < ${String(MAX_ENVIRONMENTS)}
       RETURNING uid`,
      [
        environment.uid,
        teamUid,
        ownerUid,
        environment.config.name ?? '',
        JSON.stringify(environment.config),
        environment.creatorUid,
      ],
    );
    return rows.length === 1;
  }

  /** False where the caller owns no such environment. */
  async replace(tx: Tx, caller: AccountCaller, uid: string, config: EnvironmentConfig): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE environments e SET name = $5, config = $6, last_editor_uid = $3, last_updated = now()
        WHERE e.uid = $4 AND ${OWNED} RETURNING e.uid`,
      [...parametersOf(caller), uid, config.name ?? '', JSON.stringify(config)],
    );
    return rows.length === 1;
  }

  /** With its shares and the visits of its link. False where the caller owns no such environment. */
  async delete(tx: Tx, caller: AccountCaller, uid: string): Promise<boolean> {
    const [teamUid, ownerUid] = parametersOf(caller);
    const rows = await tx.query(`DELETE FROM environments e WHERE ${OWNED} AND e.uid = $3 RETURNING e.uid`, [
      teamUid,
      ownerUid,
      uid,
    ]);
    return rows.length === 1;
  }
}
