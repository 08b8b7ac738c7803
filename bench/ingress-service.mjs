// What bench/ingress.mjs measures: the whole service, and in a process of its own each comparator, all on one PostgreSQL.
import { fork } from 'node:child_process';
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createApp } from '../dist/create-app.js';
import { parseConfig } from '../dist/config/parse-config.js';
import { createDataSource } from '../dist/database/data-source.js';
import { startEmbeddedPostgres } from '../dist/database/embedded-postgres.js';
import { migrate } from '../dist/database/migrate.js';
import { SystemClock } from '../dist/kernel/clock.js';
import { DatabaseUrl } from '../dist/kernel/persistence/database-url.js';
import { SecretBox } from '../dist/kernel/security/secret-box.js';
import { hashToken } from '../dist/webhooks/domain/tokens.js';
import { webhookSecretContext } from '../dist/webhooks/domain/webhook.js';

const INSERT = 'INSERT INTO bench_deliveries (id, webhook_uid, payload) VALUES ($1, $2, $3)';
const COMPARATOR_CONNECTIONS = 20;

if (process.argv[2] === 'bare') await serveBare(process.argv[3]);
else await main(Number(process.argv[2]));

async function main(webhookCount) {
  const dataDir = mkdtempSync(join(tmpdir(), 'millwright-bench-'));
  chmodSync(dataDir, 0o711); // as root the database runs under another account
  const server = await startEmbeddedPostgres({ dataDir, database: 'millwright', log: () => undefined });
  await migrate(server.url);
  const dataSource = createDataSource({ url: server.url });
  await dataSource.initialize();
  const encryptionKey = randomBytes(32);
  const app = await createApp({
    config: parseConfig({
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
      ROLES: 'ingress',
      // Counted like any other budget, and never spent.
      WEBHOOK_DELIVERIES_PER_MINUTE: '100000',
    }),
    databaseUrl: new DatabaseUrl(server.url),
    dataSource,
    encryptionKey,
    clock: new SystemClock(),
  });
  await app.listen(0, '127.0.0.1');
  await dataSource.query(
    'CREATE TABLE bench_deliveries (id uuid PRIMARY KEY, webhook_uid uuid NOT NULL, payload bytea NOT NULL)',
  );
  await recycleWal(dataSource);
  const webhooks = await insertWebhooks(dataSource, new SecretBox(encryptionKey), webhookCount);
  const bare = fork(new URL(import.meta.url), ['bare', server.url]);
  const [{ port }] = await once(bare, 'message');

  process.on('message', (message) => {
    if (message === 'stop') void stop();
    else if (message === 'cpu') process.send({ cpu: cpuTime(server.pid, [process.pid, bare.pid]) });
    else if (message.insert !== undefined)
      void insertFor(server.url, message.insert).then((result) => process.send(result));
    else void fillIdentities(server.url, message.identities).then(() => process.send('filled'));
  });
  process.once('disconnect', () => void stop());
  process.send({
    url: `http://127.0.0.1:${app.getHttpServer().address().port}`,
    bareUrl: `http://127.0.0.1:${port}`,
    ...webhooks,
  });

  async function stop() {
    bare.kill();
    await app.close();
    await dataSource.destroy();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    process.exit(0);
  }
}

/**
 * Microseconds that these processes and the database's have computed so far, where /proc tells; else 0. Unlike a rate it does not
 * depend on what else the machine does.
 */
function cpuTime(postmaster, pids) {
  let names;
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return 0;
  }
  return names.reduce((sum, pid) => {
    let fields;
    try {
      fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    } catch {
      return sum; // It has ended.
    }
    const counts =
      Number(pid) === postmaster || Number(fields[1]) === postmaster || pids.includes(Number(pid));
    return counts ? sum + (Number(fields[11]) + Number(fields[12])) * 10_000 : sum;
  }, 0);
}

/** Half of them with bearer tokens, half with GitHub's signatures. */
async function insertWebhooks(dataSource, box, count) {
  const team = randomUUID();
  const factory = randomUUID();
  await dataSource.query(`INSERT INTO teams (uid, name) VALUES ($1, 'bench')`, [team]);
  await dataSource.query(`INSERT INTO factories (uid, team_uid, name) VALUES ($1, $2, 'bench')`, [
    factory,
    team,
  ]);
  const made = { bearer: [], github: [] };
  for (let index = 0; index < count; index += 1) {
    const uid = randomUUID();
    const secret = randomBytes(32).toString('base64url');
    const mode = index % 2 === 0 ? 'bearer' : 'github';
    const sealed = mode === 'github' ? box.seal(webhookSecretContext(uid), secret) : undefined;
    await dataSource.query(
      `INSERT INTO webhooks (uid, factory_uid, team_uid, name, auth_mode, signature_scheme, secret_name, secret_hash,
                             sealed_secret, sealed_key_id, enabled)
       VALUES ($1::uuid, $2, $3, $1::uuid::text, $4, $5, 'BENCH', $6, $7, $8, true)`,
      [
        uid,
        factory,
        team,
        mode === 'github' ? 'signature' : 'token',
        mode === 'github' ? 'github' : null,
        mode === 'github' ? null : hashToken(secret),
        sealed?.ciphertext ?? null,
        sealed?.keyId ?? null,
      ],
    );
    made[mode].push({ path: `/webhooks/w/${uid}`, secret });
  }
  await dataSource.query('VACUUM ANALYZE webhooks');
  return made;
}

/**
 * A gigabyte of WAL segments that have been written before, as a server has them that has worked for a while: a new one is filled with
 * zeros first, and whoever commits waits for it.
 */
async function recycleWal(dataSource) {
  for (let segment = 0; segment < 64; segment += 1) {
    await dataSource.query(`SELECT pg_logical_emit_message(false, 'bench', '')`);
    await dataSource.query('SELECT pg_switch_wal()');
  }
  await dataSource.query('CHECKPOINT');
}

/** As if the webhooks had taken that many deliveries in before. */
async function fillIdentities(url, count) {
  const perStatement = 500_000;
  const dataSource = await createDataSource({ url, statementTimeoutMs: 0 }).initialize();
  for (let made = 0; made < count; made += perStatement) {
    await dataSource.query(
      `INSERT INTO webhook_identities (webhook_uid, fingerprint, delivery_id)
       SELECT (array(SELECT uid FROM webhooks))[1 + i % (SELECT count(*) FROM webhooks)], gen_random_uuid(), gen_random_uuid()
         FROM generate_series(1, $1::bigint) AS i ORDER BY 1, 2`,
      [Math.min(perStatement, count - made)],
    );
  }
  await dataSource.query('VACUUM ANALYZE webhook_identities');
  await dataSource.query('CHECKPOINT');
  await dataSource.destroy();
}

/** The insert of the bare handler and nothing else, from as many connections, with one statement after the other on each. */
async function insertFor(connectionString, seconds) {
  const until = performance.now() + seconds * 1000;
  const payload = Buffer.alloc(1000, 'x');
  const latencies = [];
  await Promise.all(
    Array.from({ length: COMPARATOR_CONNECTIONS }, async () => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      while (performance.now() < until) {
        const started = performance.now();
        await client.query({ name: 'insert', text: INSERT, values: [randomUUID(), randomUUID(), payload] });
        latencies.push(performance.now() - started);
      }
      await client.end();
    }),
  );
  // The processes of these connections end a little later; until then their CPU time would count.
  await delay(500);
  latencies.sort((a, b) => a - b);
  const quantile = (q) => latencies[Math.floor(latencies.length * q)];
  return { rate: latencies.length / seconds, p50: quantile(0.5), p99: quantile(0.99) };
}

/** The least that promises as much: the signature is right, and the row is on disk before the answer. */
async function serveBare(connectionString) {
  process.once('disconnect', () => process.exit(0));
  // A connection that ends would take its CPU time out of the sums.
  const pool = new pg.Pool({ connectionString, max: COMPARATOR_CONNECTIONS, idleTimeoutMillis: 0 });
  const webhook = randomUUID();
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const expected = createHmac('sha256', 'bare').update(body).digest();
      const given = Buffer.from(request.headers['x-hub-signature-256'].slice(7), 'hex');
      if (!timingSafeEqual(expected, given)) {
        response.writeHead(401).end();
        return;
      }
      JSON.parse(body.toString());
      const id = randomUUID();
      pool.query({ name: 'insert', text: INSERT, values: [id, webhook, body] }).then(
        () =>
          response
            .writeHead(202, { 'content-type': 'application/json' })
            .end(JSON.stringify({ delivery_id: id })),
        () => response.writeHead(503).end(),
      );
    });
  }).listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
}
