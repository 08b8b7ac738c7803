import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../dist/database/embedded-postgres.js';
import { migrate } from '../../dist/database/migrate.js';

const PREFIX = 'millwright-jest-';

/** One server for all test files, and a migrated database that each of them copies (test-database.ts). */
export default async function setUp() {
  removeAbandoned();
  const directory = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  chmodSync(directory, 0o711); // as root the server runs under another account
  const lines = [];
  const server = await startEmbeddedPostgres({
    dataDir: join(directory, 'data'),
    database: 'millwright_template',
    maxConnections: 200,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
    log: (line) => lines.push(line),
  }).catch((error) => {
    remove(directory);
    throw new Error([...lines, error.message].join('\n'), { cause: error });
  });

  // The server is no child that dies with Jest, so every end of Jest has to take it along.
  const kill = () => {
    try {
      process.kill(server.pid, 'SIGQUIT');
    } catch {
      // Stopped already.
    }
    remove(directory);
  };
  process.once('exit', kill);
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  globalThis.stopTestPostgres = async () => {
    process.off('exit', kill);
    await server.stop();
    remove(directory);
  };

  await migrate(server.url);

  const maintenance = new URL(server.url);
  maintenance.pathname = '/postgres';
  const client = new pg.Client({ connectionString: maintenance.href });
  await client.connect();
  // A connection to the template would make every copy of it fail.
  await client.query('ALTER DATABASE millwright_template WITH ALLOW_CONNECTIONS false');
  await client.end();
  process.env.TEST_POSTGRES_URL = maintenance.href;
}

/** After `kill -9` of Jest its server runs on. It ends by itself within a minute of losing its pid file. */
function removeAbandoned() {
  for (const name of readdirSync(tmpdir())) {
    const jest = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (jest !== undefined && !isAlive(Number(jest))) remove(join(tmpdir(), name));
  }
}

/** A server that ends still writes while its files are removed; what another account left behind stays. */
function remove(directory) {
  try {
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  } catch {
    // Only temporary files.
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}
