import { realpathSync } from 'node:fs';
import pg from 'pg';
import { EmbeddedPostgresError, errorCode } from './binaries.js';
import { passwordPath, readPassword, type Cluster } from './cluster.js';

const QUERY_TIMEOUT = 5_000;
const CREATE_DATABASE_TIMEOUT = 60_000;
/** Held shared by each process that uses the server, exclusively by the one that shuts it down. */
const USERS_LOCK = '7104331902';

/**
 * Connects to what listens on `port`, joins the server's users and makes sure of the database. The session stays
 * open for as long as this process uses the server: its lock is how others know, and a killed process lets go of
 * it by dying.
 *
 * @returns `foreign`: another cluster's server · `refused`: nobody listens · `unavailable`: not yet, or no more.
 */
export async function openSession(
  cluster: Cluster,
  port: number,
  database: string,
): Promise<pg.Client | 'foreign' | 'refused' | 'unavailable'> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    password: readPassword(cluster),
    database: 'postgres',
    application_name: 'millwright-owner',
    connectionTimeoutMillis: QUERY_TIMEOUT,
    query_timeout: QUERY_TIMEOUT,
  });
  client.on('error', () => undefined); // a shutdown cuts the connection at any time
  let kept = false;
  try {
    await client.connect();
    const { rows } = await client.query<{ data: string; joined: boolean }>(
      `SELECT current_setting('data_directory') AS data, pg_try_advisory_lock_shared($1) AS joined`,
      [USERS_LOCK],
    );
    if (rows[0] === undefined || realpathSync(rows[0].data) !== cluster.data) return 'foreign';
    if (!rows[0].joined) return 'unavailable';
    // A shutdown that began just before frees the lock a moment before it ends this session: the next
    // statement is the proof that the server stays.
    await createDatabase(client, database);
    (client as pg.Client & { unref(): void }).unref();
    kept = true;
    return client;
  } catch (error) {
    if (errorCode(error) === 'ECONNREFUSED') return 'refused';
    if (!(error instanceof pg.DatabaseError)) return 'unavailable';
    if (error.code === '28P01') {
      throw new EmbeddedPostgresError(
        `${passwordPath(cluster)} does not hold the password of the server on port ${port}.`,
      );
    }
    // operator intervention (it starts or stops), too_many_connections
    if (error.code?.startsWith('57') || error.code === '53300') return 'unavailable';
    throw error;
  } finally {
    if (!kept) await client.end().catch(() => undefined);
  }
}

async function createDatabase(session: pg.Client, database: string): Promise<void> {
  const { rowCount } = await session.query('SELECT FROM pg_database WHERE datname = $1', [database]);
  if (rowCount) return;
  const create = {
    text: `CREATE DATABASE ${session.escapeIdentifier(database)}`,
    query_timeout: CREATE_DATABASE_TIMEOUT,
  };
  try {
    await session.query(create);
  } catch (error) {
    // duplicate_database, or unique_violation in its catalog: another process did the same
    if (!['42P04', '23505'].includes(errorCode(error) ?? '')) throw error;
  }
}

/** True leaves the lock held exclusively: nobody can begin to use the server, so that it can be shut down. */
export async function isLastUser(session: pg.Client): Promise<boolean> {
  await session.query('SELECT pg_advisory_unlock_shared($1)', [USERS_LOCK]);
  const { rows } = await session.query<{ last: boolean }>('SELECT pg_try_advisory_lock($1) AS last', [
    USERS_LOCK,
  ]);
  return rows[0]?.last === true;
}
