import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { newUuid } from '../../src/kernel/ids.js';
import { describeApiKey, newApiKey } from '../../src/identities/domain/api-key.js';

export interface TestUser {
  uid: string;
  key: string;
  /** What makes a call one of this user. */
  headers: { Authorization: string };
}

/** A team with its default agent. */
export async function insertTeam(dataSource: DataSource, name = 'A team'): Promise<string> {
  const uid = randomUUID();
  await dataSource.query('INSERT INTO teams (uid, name) VALUES ($1, $2)', [uid, name]);
  await dataSource.query(
    `INSERT INTO agents (uid, team_uid, name, is_default) VALUES ($1, $2, 'Default agent', true)`,
    // In the order of creation, also within one millisecond.
    [newUuid(), uid],
  );
  return uid;
}

/** The team that the installation begins with: the admin's. */
export async function firstTeam(dataSource: DataSource): Promise<string> {
  const [team] = await dataSource.query<{ uid: string }[]>(
    'SELECT uid FROM teams ORDER BY created_at, uid LIMIT 1',
  );
  return team!.uid;
}

/** A member (or, with `role`, an admin) of the teams, with an API key. */
export async function insertUser(
  dataSource: DataSource,
  user: { teams: string[]; name?: string; operator?: boolean; role?: 'admin' | 'member' },
): Promise<TestUser> {
  const uid = randomUUID();
  await dataSource.query('INSERT INTO users (uid, display_name) VALUES ($1, $2)', [
    uid,
    user.name ?? 'A user',
  ]);
  for (const team of user.teams) {
    await dataSource.query(`INSERT INTO memberships (team_uid, user_uid, role) VALUES ($1, $2, $3)`, [
      team,
      uid,
      user.role ?? 'member',
    ]);
  }
  const { key, prefix, lastFour, hash } = describeApiKey(newApiKey().key);
  await dataSource.query(
    `INSERT INTO api_keys (uid, name, prefix, last_four, hash, user_uid, operator) VALUES ($1, 'test', $2, $3, $4, $5, $6)`,
    [randomUUID(), prefix, lastFour, hash, uid, user.operator ?? false],
  );
  return { uid, key, headers: { Authorization: `Bearer ${key}` } };
}
