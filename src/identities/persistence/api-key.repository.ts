import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Queryable, type Tx } from '../../kernel/persistence/database.js';
import type { ApiKeyView, NewApiKey } from '../domain/api-key.js';
import { lockTeam } from './lock-team.js';

export interface ApiKeyRow {
  uid: string;
  hash: Buffer;
  operator: boolean;
  run_id: string | null;
  execution_id: string | null;
  /** Its last use was noted a while ago. */
  use_is_stale: boolean;
  user_uid: string | null;
  display_name: string | null;
  email: string | null;
  teams: { uid: string; role: 'admin' | 'member'; permissions: string[] }[] | null;
  agent: { uid: string; name: string; team_uid: string; on_behalf_of_enabled: boolean } | null;
}

/** How far `last_used_at` may lag: it is not worth a write for each request. */
const USE_RESOLUTION = '1 minute';

/** The keys that a person manages: their own ($1) and those of the agents of the team that they act for ($2). */
const MANAGED_BY = `
  (k.user_uid = $1 OR k.agent_uid IN (SELECT uid FROM agents WHERE team_uid = $2::uuid))`;

@Injectable()
export class ApiKeyRepository {
  constructor(private readonly database: Database) {}

  /** The live keys with this prefix (nearly always one or none) and whom they belong to, the oldest membership first. */
  findByPrefix(prefix: string): Promise<ApiKeyRow[]> {
    return this.database.query<ApiKeyRow>(
      `SELECT k.uid, k.hash, k.operator, k.run_id, k.execution_id,
              coalesce(k.last_used_at < now() - $2::interval, true) AS use_is_stale,
              u.uid AS user_uid, u.display_name, u.email,
              (SELECT json_agg(json_build_object('uid', m.team_uid, 'role', m.role, 'permissions', m.permissions)
                               ORDER BY m.created_at, m.team_uid)
                 FROM memberships m WHERE m.user_uid = u.uid) AS teams,
              (SELECT json_build_object('uid', a.uid, 'name', a.name, 'team_uid', a.team_uid,
                                        'on_behalf_of_enabled', a.on_behalf_of_enabled)
                 FROM agents a WHERE a.uid = k.agent_uid) AS agent
         FROM api_keys k LEFT JOIN users u ON u.uid = k.user_uid
        WHERE k.prefix = $1 AND (k.expires_at IS NULL OR k.expires_at > now())`,
      [prefix, USE_RESOLUTION],
    );
  }

  async noteUse(uid: string): Promise<void> {
    await this.database.query(
      `UPDATE api_keys SET last_used_at = now()
        WHERE uid = $1 AND (last_used_at IS NULL OR last_used_at < now() - $2::interval)`,
      [uid, USE_RESOLUTION],
    );
  }

  /** @returns the key's uid */
  async insertForUser(
    tx: Tx,
    key: NewApiKey,
    owner: { userUid: string; name: string; operator: boolean; expiresAt?: Date },
  ): Promise<string> {
    const uid = newUuid();
    await tx.query(
      `INSERT INTO api_keys (uid, name, prefix, last_four, hash, user_uid, operator, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        uid,
        owner.name,
        key.prefix,
        key.lastFour,
        key.hash,
        owner.userUid,
        owner.operator,
        owner.expiresAt ?? null,
      ],
    );
    return uid;
  }

  /** @returns the key's uid; undefined when the team has no such agent, also when it is being deleted */
  async insertForAgent(
    tx: Tx,
    key: NewApiKey,
    owner: { teamUid: string; agentUid: string; name: string; expiresAt?: Date },
  ): Promise<string | undefined> {
    const rows = await tx.query<{ uid: string }>(
      `INSERT INTO api_keys (uid, name, prefix, last_four, hash, agent_uid, expires_at)
       SELECT $1::uuid, $2, $3, $4, $5::bytea, uid, $6::timestamptz FROM agents WHERE uid = $7 AND team_uid = $8 FOR KEY SHARE
       RETURNING uid`,
      [
        newUuid(),
        owner.name,
        key.prefix,
        key.lastFour,
        key.hash,
        owner.expiresAt ?? null,
        owner.agentUid,
        owner.teamUid,
      ],
    );
    return rows[0]?.uid;
  }

  /** Locks the person against further keys until the transaction ends. @returns how many they have */
  async lockAndCountOfUser(tx: Tx, userUid: string): Promise<number> {
    await tx.query('SELECT 1 FROM users WHERE uid = $1 FOR NO KEY UPDATE', [userUid]);
    return countOf(tx, 'SELECT count(*)::int AS keys FROM api_keys WHERE user_uid = $1', userUid);
  }

  /** Locks the team against further agents and keys of agents until the transaction ends. @returns how many keys its agents have */
  async lockAndCountOfAgents(tx: Tx, teamUid: string): Promise<number> {
    await lockTeam(tx, teamUid);
    return countOf(
      tx,
      'SELECT count(*)::int AS keys FROM api_keys k JOIN agents a ON a.uid = k.agent_uid WHERE a.team_uid = $1',
      teamUid,
    );
  }

  /**
   * The keys of a person and of a team's agents, the oldest first; never a run's.
   *
   * @param keyUid this one alone
   */
  list(
    database: Queryable,
    of: { userUid: string; teamUid: string | null },
    keyUid: string | null = null,
  ): Promise<ApiKeyView[]> {
    return database.query<ApiKeyView>(
      `SELECT k.uid, k.name, k.prefix, k.last_four AS "lastFour", a.team_uid AS "teamUid", k.operator,
              coalesce(k.user_uid, k.agent_uid) AS "ownerUid",
              coalesce(u.display_name, a.name) AS "ownerName", u.email AS "ownerEmail",
              k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.last_used_at AS "lastUsedAt"
         FROM api_keys k LEFT JOIN users u ON u.uid = k.user_uid LEFT JOIN agents a ON a.uid = k.agent_uid
        WHERE ${MANAGED_BY} AND ($3::uuid IS NULL OR k.uid = $3)
        ORDER BY k.created_at, k.uid`,
      [of.userUid, of.teamUid, keyUid],
    );
  }

  /** @returns whether there was such a key of the person or of the team's agents */
  async delete(tx: Tx, of: { userUid: string; teamUid: string | null }, keyUid: string): Promise<boolean> {
    const rows = await tx.query(`DELETE FROM api_keys k WHERE ${MANAGED_BY} AND k.uid = $3 RETURNING k.uid`, [
      of.userUid,
      of.teamUid,
      keyUid,
    ]);
    return rows.length === 1;
  }

  async deleteNamed(tx: Tx, userUid: string, name: string): Promise<void> {
    await tx.query(`DELETE FROM api_keys WHERE user_uid = $1 AND name = $2`, [userUid, name]);
  }

  async insertForExecutions(
    tx: Tx,
    keys: { key: NewApiKey; runId: string; executionId: number }[],
  ): Promise<void> {
    await tx.query(
      `INSERT INTO api_keys (uid, name, prefix, last_four, hash, run_id, execution_id)
       SELECT uid, 'run', prefix, last_four, hash, run_id, execution_id
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::uuid[], $6::bigint[])
           AS k (uid, prefix, last_four, hash, run_id, execution_id)`,
      [
        keys.map(() => newUuid()),
        keys.map(({ key }) => key.prefix),
        keys.map(({ key }) => key.lastFour),
        keys.map(({ key }) => key.hash),
        keys.map(({ runId }) => runId),
        keys.map(({ executionId }) => executionId),
      ],
    );
  }

  async deleteOfExecutions(tx: Tx, executionIds: number[]): Promise<void> {
    if (executionIds.length === 0) return;
    await tx.query(`DELETE FROM api_keys WHERE execution_id = ANY ($1::bigint[])`, [executionIds]);
  }
}

async function countOf(tx: Tx, sql: string, uid: string): Promise<number> {
  const [row] = await tx.query<{ keys: number }>(sql, [uid]);
  return row?.keys ?? 0;
}
