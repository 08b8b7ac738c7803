import type { NestExpressApplication } from '@nestjs/platform-express';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { parseConfig } from '../../src/config/parse-config.js';
import { createApp } from '../../src/create-app.js';
import { createDataSource } from '../../src/database/data-source.js';
import { BootstrapInstallation } from '../../src/identities/index.js';
import { SystemClock } from '../../src/kernel/clock.js';
import { DatabaseUrl } from '../../src/kernel/persistence/database-url.js';
import type { SharedClock } from '../../src/kernel/persistence/shared-clock.js';
import { Transactor } from '../../src/kernel/persistence/transactor.js';
import { createTestDatabase } from './test-database.js';

export const ADMIN_KEY = 'wk-test-admin-key-0123456789abcdefghij';

export interface TestApp {
  app: NestExpressApplication;
  /** Such as `http://127.0.0.1:41234`. */
  url: string;
  databaseUrl: string;
  dataSource: DataSource;
  dataDir: string;
  encryptionKey: Buffer;
  /** Calls the API as the admin, with a JSON body if one is given. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed where it is JSON. */
  body: unknown;
}

/**
 * The whole application over a socket, on a database of its own, with the first team and its admin.
 *
 * @param replicaOf shares the database and, unless ENCRYPTION_KEY is given, the encryption key of this one instead; it is closed before that one
 * @param sharedClock instead of the database's
 */
export async function startTestApp(
  environment: Record<string, string> = {},
  replicaOf?: TestApp,
  sharedClock?: SharedClock,
): Promise<TestApp> {
  const database =
    replicaOf === undefined
      ? await createTestDatabase()
      : { url: replicaOf.databaseUrl, drop: () => Promise.resolve() };
  const dataDir = await mkdtemp(join(tmpdir(), 'millwright-app-'));
  const config = parseConfig({
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    API_REQUESTS_PER_MINUTE: '0',
    ...environment,
  });
  const encryptionKey = config.encryptionKey ?? replicaOf?.encryptionKey ?? randomBytes(32);
  const dataSource = createDataSource({ url: database.url });
  await dataSource.initialize();
  const app = await createApp({
    config,
    databaseUrl: new DatabaseUrl(database.url),
    dataSource,
    encryptionKey,
    clock: new SystemClock(),
    sharedClock,
  });
  await app.get(Transactor).run((tx) => app.get(BootstrapInstallation).execute(tx));
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://127.0.0.1:${String(port)}`;
  return {
    app,
    url,
    databaseUrl: database.url,
    dataSource,
    dataDir,
    encryptionKey,
    call: (method, path, body, headers) => call(url + path, method, body, headers),
    close: async () => {
      await app.close();
      await dataSource.destroy();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** @param body sent as it is when it is a string, else as JSON */
export async function call(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { Authorization: `Bearer ${ADMIN_KEY}`, 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? (JSON.parse(text) as unknown) : text,
  };
}

/** Waits until the probe answers something other than undefined. */
export async function eventually<T>(
  probe: () => Promise<T | undefined>,
  { withinMs = 30_000, what = 'the condition' } = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadline) throw new Error(`${what} did not hold within ${String(withinMs)} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Until a statement waits for a lock that somebody else holds. */
export const lockAwaited = ({ dataSource }: TestApp): Promise<object> =>
  eventually(
    async () => {
      const [waiting] = await dataSource.query<object[]>(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return waiting;
    },
    { what: 'a wait for a lock' },
  );
