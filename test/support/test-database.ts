import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  readonly url: string;
  /** Ends whatever is still connected, so that a test which failed does not block the next. */
  drop(): Promise<void>;
}

/** An empty migrated database of its own for a test file: a copy of the template that global-setup.mjs has made. */
export const createTestDatabase = (): Promise<TestDatabase> => createDatabase('millwright_template');

/** A database to which no migration has been applied. */
export const createBlankDatabase = (): Promise<TestDatabase> => createDatabase('template0');

async function createDatabase(template: string): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString('hex')}`;
  await execute(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(maintenanceUrl());
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function execute(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: maintenanceUrl() });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function maintenanceUrl(): string {
  const url = process.env.TEST_POSTGRES_URL;
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with `npm test`.');
  return url;
}
