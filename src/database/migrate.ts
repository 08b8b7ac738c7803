import { runMigrations as runJobQueueMigrations } from 'graphile-worker';
import pg from 'pg';
import { connectionBounds } from '../kernel/persistence/connection-bounds.js';
import { createDataSource } from './data-source.js';

/** Chosen once; any number that nothing else in the database uses. */
const MIGRATION_LOCK = 7_236_511_408;

/**
 * Brings the database to the schema of this version: the job queue's tables, then ours. Processes that start together take turns.
 *
 * @returns the names of the migrations that were applied now
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const lock = new pg.Client({ connectionString: databaseUrl, ...connectionBounds(0) });
  await lock.connect();
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await runJobQueueMigrations({ connectionString: databaseUrl });
    // An index on a large table takes as long as it takes.
    const dataSource = createDataSource({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 0 });
    await dataSource.initialize();
    try {
      return (await dataSource.runMigrations()).map((migration) => migration.name);
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await lock.end();
  }
}
