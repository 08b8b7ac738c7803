/**
 * `npm run bench:evaluation`: 1,000 automations on one webhook, of which one in 1,000 matches a delivery, and 10,000 deliveries queued
 * there. How many deliveries and runs a second, and meanwhile how late a quiet webhook is: from the receipt of a delivery to its run.
 * Everything runs on this machine: the service, its database with fsync on, and the sender.
 */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { v7 } from 'uuid';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);
const { startEmbeddedPostgres } = await import('../dist/database/embedded-postgres.js');

const GOAL_LAG_MS = 250;
const KEY = 'wk-bench-admin-key-0123456789abcdefghi';

const { values } = parseArgs({
  options: {
    automations: { type: 'string', default: '1000' },
    deliveries: { type: 'string', default: '10000' },
    /** Deliveries to the quiet webhook a second. */
    quiet: { type: 'string', default: '5' },
  },
});
const AUTOMATIONS = Number(values.automations);
const DELIVERIES = Number(values.deliveries);

const dataDir = mkdtempSync(join(tmpdir(), 'millwright-bench-'));
chmodSync(dataDir, 0o711); // as root the database runs under another account
const postgres = await startEmbeddedPostgres({ dataDir, database: 'millwright', log: () => undefined });
const port = 20_000 + Math.floor(Math.random() * 20_000);
const url = `http://127.0.0.1:${port}`;
const service = await startService();
const database = new pg.Pool({ connectionString: postgres.url, max: 4 });
try {
  await bench();
} finally {
  await database.end();
  service.kill('SIGTERM');
  await once(service, 'exit');
  await postgres.stop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
process.exit();

/** In a process of its own: what measures must not take the turns of what is measured. */
async function startService() {
  const child = spawn(process.execPath, ['dist/main.js'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: join(dataDir, 'service'),
      DATABASE_URL: postgres.url,
      PORT: String(port),
      BOOTSTRAP_API_KEY: KEY,
      LOG_LEVEL: 'warn',
      WORKER_SLOTS: '0',
      API_REQUESTS_PER_MINUTE: '0',
      WEBHOOK_DELIVERIES_PER_MINUTE: '0',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (;;) {
    const { ok } = await fetch(`${url}/readyz`).catch(() => ({ ok: false }));
    if (ok) return child;
    if (child.exitCode !== null) throw new Error('the service has ended');
    await pause(100);
  }
}

async function bench() {
  const [factory] = (await call('GET', '/v1/factories')).factories;
  const loud = await call('POST', `/v1/factories/${factory.uid}/webhooks`, { name: 'loud' });
  // A factory of its own: the first has as many automations as it may have.
  const other = await call('POST', '/v1/factories', { name: 'quiet' });
  const quiet = await call('POST', `/v1/factories/${other.uid}/webhooks`, { name: 'quiet' });
  for (let n = 0; n < AUTOMATIONS; n++) {
    await automation(factory.uid, `loud ${n}`, loud.uid, {
      action: ['opened', 'reopened'],
      repository: { full_name: [`acme/service-${n}`], private: { not_in: [false] } },
    });
  }
  await automation(other.uid, 'quiet', quiet.uid, {});
  await queue(loud.uid);
  console.log(`${AUTOMATIONS} automations, ${DELIVERIES} deliveries are queued`);

  const began = performance.now();
  const lags = [];
  let isOver = false;
  const senders = sendQuietly(quiet, lags, () => isOver);
  const evaluated = await until(
    `SELECT count(*) = 0 AS done FROM webhook_evaluation_queue WHERE webhook_uid = '${loud.uid}'`,
  );
  const launched = await until(
    `SELECT count(*) = ${DELIVERIES} AS done FROM delivery_evaluations WHERE webhook_uid = '${loud.uid}' AND outcome = 'matched'`,
  );
  isOver = true;
  await senders;
  const { rows } = await database.query(
    `SELECT (SELECT count(*) FROM runs) AS runs, pg_total_relation_size('delivery_outcomes') AS bytes,
            (SELECT count(*) FROM delivery_outcomes) AS deliveries, (SELECT count(*) FROM evaluation_plans) AS plans`,
  );
  const rate = (until) => ((DELIVERIES * 1000) / (until - began)).toFixed(0);
  console.log(
    `deliveries a second     ${rate(evaluated)}  (${((DELIVERIES * AUTOMATIONS) / (evaluated - began) / 1000).toFixed(1)} million filters a second)`,
  );
  console.log(`runs a second           ${rate(launched)}`);
  console.log(
    `runs                    ${rows[0].runs} = ${DELIVERIES} + ${lags.length} of the quiet webhook`,
  );
  console.log(
    `bytes of outcomes       ${(rows[0].bytes / rows[0].deliveries).toFixed(0)} a delivery, ${rows[0].plans} plans`,
  );
  lags.sort((a, b) => a - b);
  const percentile = (share) => lags[Math.min(lags.length - 1, Math.ceil(share * lags.length) - 1)];
  const p99 = percentile(0.99);
  console.log(
    `lag of the quiet one    p50 ${percentile(0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, goal ${GOAL_LAG_MS} ms (${lags.length} deliveries)`,
  );
  process.exitCode = p99 > GOAL_LAG_MS || Number(rows[0].runs) !== DELIVERIES + lags.length ? 1 : 0;
}

async function sendQuietly(webhook, lags, isOver) {
  const pending = [];
  while (!isOver()) {
    pending.push(
      (async () => {
        const response = await fetch(webhook.ingress_url, {
          method: 'POST',
          headers: { Authorization: `Bearer ${webhook.secret}` },
          body: JSON.stringify({ id: randomUUID() }),
        });
        const { delivery_id: delivery } = await response.json();
        // The moments of the two rows, on the one clock of the database.
        for (;;) {
          const { rows } = await database.query(
            `SELECT extract(epoch FROM r.created_at - d.received_at) * 1000 AS lag
               FROM delivery_evaluations e JOIN runs r ON r.id = e.run_id JOIN webhook_deliveries d ON d.id = e.delivery_id
              WHERE e.delivery_id = $1`,
            [delivery],
          );
          if (rows[0] !== undefined) return lags.push(Number(rows[0].lag));
          await pause(25);
        }
      })(),
    );
    await pause(1000 / Number(values.quiet));
  }
  await Promise.all(pending);
}

async function queue(webhookUid) {
  for (let from = 0; from < DELIVERIES; from += 1000) {
    const numbers = Array.from({ length: Math.min(1000, DELIVERIES - from) }, (_, n) => from + n);
    await database.query(
      `WITH given AS (SELECT * FROM unnest($2::uuid[], $3::text[]) AS g (id, payload)), logged AS (
         INSERT INTO webhook_deliveries (id, webhook_uid, status, size_bytes, received_at, headers, payload)
         SELECT id, $1, 'accepted', length(payload), now(), '{}', convert_to(payload, 'UTF8') FROM given
       )
       -- Not before all are there.
       INSERT INTO webhook_evaluation_queue (webhook_uid, delivery_id, available_at) SELECT $1, id, 'infinity' FROM given`,
      [webhookUid, numbers.map(() => v7()), numbers.map((n) => JSON.stringify(payload(n)))],
    );
  }
  await database.query('ANALYZE webhook_deliveries, webhook_evaluation_queue');
  await database.query('UPDATE webhook_evaluation_queue SET available_at = now()');
}

/** About a kilobyte. */
function payload(n) {
  return {
    action: 'opened',
    number: n,
    repository: { full_name: `acme/service-${n % AUTOMATIONS}`, private: true, topics: ['a', 'b', 'c'] },
    text: randomBytes(300).toString('base64'),
    sender: { login: 'octocat', type: 'User' },
  };
}

function automation(factoryUid, name, webhookUid, filter) {
  return call('POST', `/v1/factories/${factoryUid}/automations`, {
    name,
    prompt: 'Look into it.',
    triggers: [
      { provider: 'webhook', event: 'received', filter: { webhook_ids: [webhookUid], payload: filter } },
    ],
  });
}

async function call(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

async function until(query) {
  for (;;) {
    const { rows } = await database.query(query);
    if (rows[0].done) return performance.now();
    await pause(50);
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
