import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import type { NewApiKey } from '../domain/api-key.js';

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

  async insertForUser(
    tx: Tx,
    key: NewApiKey,
    owner: { userUid: string; name: string; operator: boolean },
  ): Promise<void> {
    await tx.query(
      `INSERT INTO api_keys (uid, name, prefix, last_four, hash, user_uid, operator) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [newUuid(), owner.name, key.prefix, key.lastFour, key.hash, owner.userUid, owner.operator],
    );
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
