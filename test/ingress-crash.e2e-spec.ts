import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createDataSource } from '../src/database/data-source.js';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/database/embedded-postgres.js';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { freePort, ServiceProcess } from './support/service-process.js';
import { scaled } from './support/soak.js';
import { insertWebhook, type TestWebhook } from './support/webhooks.js';

const SENDERS = 32;
const WEBHOOKS = 6;
const SECONDS = scaled(12, 60);
const KILL_EVERY_MS = 2500;
const START_MS = 120_000;

/** What a sender was told. */
interface Acknowledgement {
  webhookUid: string;
  identity: string;
  body: string;
  /** Of every 202 that it was given. */
  deliveryIds: Set<string>;
}

const encryptionKey = randomBytes(32);
let directory: string;
let postgres: EmbeddedPostgres;
const replicas: ServiceProcess[] = [];
let ports: string[];
let webhooks: TestWebhook[];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millwright-crash-'));
  await chmod(directory, 0o711); // as root the database runs under another account
  postgres = await startPostgres();
  ports = [String(await freePort()), String(await freePort())];
  replicas.push(await startReplica(0), await startReplica(1));
  const dataSource = await createDataSource({ url: postgres.url, poolSize: 2 }).initialize();
  const box = new SecretBox(encryptionKey);
  webhooks = [];
  for (let count = 0; count < WEBHOOKS; count++) webhooks.push(await insertWebhook({ dataSource, box }));
  await dataSource.destroy();
}, START_MS);

afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop('SIGKILL')));
  await postgres.stop();
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}, START_MS);

it(
  'loses nothing that was acknowledged and takes nothing in twice, whatever is killed',
  async () => {
    const over = new AbortController();
    const senders = Array.from({ length: SENDERS }, () => sendUntil(over.signal));
    await killFor(SECONDS * 1000);
    over.abort();
    const acknowledgements = (await Promise.all(senders)).flat();

    expect(acknowledgements.length).toBeGreaterThan(SENDERS);
    const client = new pg.Client(postgres.url);
    await client.connect();
    const { rows } = await client.query<{
      id: string;
      webhook_uid: string;
      status: string;
      identity_value: string;
      payload: Buffer | null;
      queued: number;
    }>(
      `SELECT d.*, (SELECT count(*)::int FROM webhook_evaluation_queue q WHERE q.delivery_id = d.id) AS queued
         FROM webhook_deliveries d`,
    );
    const { rows: orphans } = await client.query(
      `SELECT delivery_id FROM webhook_evaluation_queue q
        WHERE NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.id = q.delivery_id AND d.status = 'accepted')
       UNION ALL
       SELECT delivery_id FROM webhook_identities i
        WHERE NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.id = i.delivery_id AND d.status = 'accepted')`,
    );
    await client.end();

    const accepted = new Map<string, typeof rows>();
    for (const row of rows) {
      expect(row.queued).toBe(row.status === 'accepted' ? 1 : 0);
      if (row.status !== 'accepted') continue;
      const key = `${row.webhook_uid} ${row.identity_value}`;
      accepted.set(key, [...(accepted.get(key) ?? []), row]);
    }
    const twice = [...accepted.values()].filter((copies) => copies.length > 1);
    const lost = acknowledgements.filter(({ webhookUid, identity, body, deliveryIds }) => {
      const [row] = accepted.get(`${webhookUid} ${identity}`) ?? [];
      return row === undefined || row.payload?.toString() !== body || [...deliveryIds].join() !== row.id;
    });
    expect({ lost, twice, orphans }).toEqual({ lost: [], twice: [], orphans: [] });
    expect(accepted.size).toBe(acknowledgements.length);
  },
  START_MS + SECONDS * 1000,
);

/** As real senders do: again and again until it is acknowledged, and now and then once more although it was. */
async function sendUntil(over: AbortSignal): Promise<Acknowledgement[]> {
  const acknowledged: Acknowledgement[] = [];
  while (!over.aborted) {
    const { uid, path, secret } = webhooks[Math.floor(Math.random() * WEBHOOKS)]!;
    const identity = randomUUID();
    const delivery = {
      webhookUid: uid,
      identity,
      body: JSON.stringify({ identity }),
      deliveryIds: new Set<string>(),
    };
    const wanted = Math.random() < 0.2 ? 2 : 1;
    for (let given = 0; given < wanted;) {
      const id = await deliverOnce(path, secret, delivery);
      if (id === undefined) {
        await delay(20 + Math.random() * 200);
      } else {
        given += 1;
        delivery.deliveryIds.add(id);
      }
    }
    acknowledged.push(delivery);
  }
  return acknowledged;
}

/** @returns undefined when it is to be tried again */
async function deliverOnce(
  path: string,
  secret: string,
  { body, identity }: Acknowledgement,
): Promise<string | undefined> {
  const port = ports[Math.random() < 0.5 ? 0 : 1]!;
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body,
      headers: { Authorization: `Bearer ${secret}`, 'X-Service-Delivery-Id': identity },
      signal: AbortSignal.timeout(5000),
    });
    const answer = (await response.json()) as { delivery_id?: string };
    // A fault of ours is 503 and nothing else: some senders drop for good what is answered 4xx.
    if (response.status !== 202 && response.status !== 503) throw new UnexpectedStatus(response.status);
    return response.status === 202 ? answer.delivery_id : undefined;
  } catch (error) {
    if (error instanceof UnexpectedStatus) throw error;
    return undefined;
  }
}

class UnexpectedStatus extends Error {
  constructor(status: number) {
    super(`a delivery was answered ${String(status)}`);
  }
}

/** In turn: one replica, PostgreSQL, the other replica, PostgreSQL; each of them once at least. */
async function killFor(milliseconds: number): Promise<void> {
  const until = performance.now() + milliseconds;
  for (let kills = 0; kills < 3 || performance.now() < until; kills++) {
    await delay(KILL_EVERY_MS * (0.5 + Math.random() * 0.5));
    const index = (kills >> 1) % 2;
    if (kills % 2 === 0) {
      await replicas[index]!.stop('SIGKILL');
      replicas[index] = await startReplica(index);
    } else {
      process.kill(postgres.pid, 'SIGKILL');
      postgres = await startPostgres();
    }
  }
}

/** Durable, unlike the server of the other tests; on the port that it had before. */
const startPostgres = (): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({
    dataDir: join(directory, 'database'),
    database: 'millwright',
    log: () => undefined,
  });

const startReplica = (index: number): Promise<ServiceProcess> =>
  ServiceProcess.start({
    PORT: ports[index]!,
    DATA_DIR: join(directory, `replica-${String(index)}`),
    DATABASE_URL: postgres.url,
    ENCRYPTION_KEY: encryptionKey.toString('base64'),
    ROLES: 'api,ingress',
    WORKER_SLOTS: '0',
    WEBHOOK_DELIVERIES_PER_MINUTE: '1000000',
    LOG_LEVEL: 'fatal',
  });
