// `npm run bench:dispatch`: from the queue to the worker, over real sockets. The service runs in a process of its own on an embedded
// PostgreSQL, the workers and clients in this one.
//
// 1. Latency: one worker, one run at a time: from the create's answer to the assignment on the wire.
// 2. Throughput: 50 workers, all runs queued beforehand: assignments a second, beside a bare loop that takes runs off the same queue,
//    eight a statement, and writes the same rows through `pg` on one connection: the bound that the database gives to one dispatcher.
// 3. Idle workers: what 1,000 connections cost while nothing happens.
//
// --runs N (of the throughput, default 4000)  --samples N (of the latency, default 200)  --workers N (idle ones, default 1000)
// Ends with exit code 1 when a goal is missed.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { WebSocket } from 'ws';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

const GOAL_LATENCY_MS = 20;
const GOAL_IDLE_MIB = 300;
const GOAL_IDLE_CORE = 0.05;
const KEY = 'wk-bench-key-0123456789abcdefghijklmnopqrstuv';
const BUSY_WORKERS = 50;
const IDLE_SECONDS = 20;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '4000' },
    samples: { type: 'string', default: '200' },
    workers: { type: 'string', default: '1000' },
  },
});
const [runs, samples, idleWorkers] = [values.runs, values.samples, values.workers].map(Number);

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);

const service = fork(new URL('./lib/service.mjs', import.meta.url), {
  execArgv: ['--expose-gc'],
  env: { ...process.env, BENCH_KEY: KEY },
});
process.once('exit', () => service.kill('SIGKILL'));
const [{ url, databaseUrl }] = await once(service, 'message');
const database = new pg.Client({ connectionString: databaseUrl });
await database.connect();

const failures = [];
await measureLatency();
await measureThroughput();
await measureIdle();
console.log(failures.length === 0 ? '\nAll goals are reached.' : `\nFALLS SHORT: ${failures.join('; ')}`);
process.exitCode = failures.length === 0 ? 0 : 1;
await database.end();
service.send('stop');
await once(service, 'exit');

async function measureLatency() {
  const worker = await connect('latency', () => undefined);
  const times = [];
  for (let number = 0; number < samples + 20; number += 1) {
    const early = new Map();
    let resolveAssigned;
    const assigned = new Promise((resolve) => (resolveAssigned = resolve));
    worker.onAssignment = (run) => {
      early.set(run.task_id, performance.now());
      execute(worker, run);
      resolveAssigned();
    };
    const id = await create('latency');
    const answered = performance.now();
    await assigned;
    // The first ones warm up.
    if (number >= 20) times.push(Math.max(0, early.get(id) - answered));
    await sleep(5);
  }
  worker.close();
  times.sort((a, b) => a - b);
  const [median, p99] = [times[times.length >> 1], times[Math.floor(times.length * 0.99)]];
  console.log(
    `\nFrom the create's answer to the assignment, idle, ${samples} runs: median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  );
  if (median > GOAL_LATENCY_MS)
    failures.push(`median latency ${median.toFixed(1)} ms, goal ${GOAL_LATENCY_MS}`);
}

async function measureThroughput() {
  await queue(runs);
  const bound = await bareClaims(runs / 2);
  const left = runs - runs / 2;
  let assigned = 0;
  let done;
  const all = new Promise((resolve) => (done = resolve));
  const startedAt = performance.now();
  const workers = await Promise.all(
    Array.from({ length: BUSY_WORKERS }, (_, number) =>
      connect(`busy-${number}`, (run, worker) => {
        execute(worker, run);
        assigned += 1;
        if (assigned === left) done();
      }),
    ),
  );
  await all;
  const rate = left / ((performance.now() - startedAt) / 1000);
  for (const worker of workers) worker.close();
  console.log(
    `Throughput, ${BUSY_WORKERS} workers that claim and complete at once: ${rate.toFixed(0)} runs/s; ` +
      `bare claims on one connection, nothing else to do: ${bound.toFixed(0)} runs/s; ratio ${(rate / bound).toFixed(2)}`,
  );
}

async function measureIdle() {
  await sleep(3000);
  const before = await usage();
  const workers = [];
  for (let number = 0; number < idleWorkers; number += 1) {
    workers.push(await connect(`idle-${number}`, () => undefined));
  }
  await sleep(3000);
  const start = await usage();
  await sleep(IDLE_SECONDS * 1000);
  const end = await usage();
  const core = (end.cpuMs - start.cpuMs) / (IDLE_SECONDS * 1000);
  console.log(
    `${idleWorkers} idle workers: ${end.residentMib.toFixed(0)} MiB resident (${before.residentMib.toFixed(0)} before them), ${(core * 100).toFixed(1)} % of a core`,
  );
  if (end.residentMib > GOAL_IDLE_MIB)
    failures.push(`idle memory ${end.residentMib.toFixed(0)} MiB, goal ${GOAL_IDLE_MIB}`);
  if (core > GOAL_IDLE_CORE)
    failures.push(`idle CPU ${(core * 100).toFixed(1)} %, goal ${GOAL_IDLE_CORE * 100}`);
  for (const worker of workers) worker.close();
}

async function usage() {
  service.send('usage');
  const [answer] = await once(service, 'message');
  return answer;
}

function execute(worker, { task_id, execution_id }) {
  worker.send('task_claimed', { task_id, execution_id, worker_id: worker.name });
  worker.send('task_completed', { task_id, execution_id, message: 'done' });
}

/** A worker that takes as much as it is offered, and pings as real ones do. */
async function connect(name, onAssignment) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/selfhosted/worker/ws?worker_id=${name}`, {
    headers: { Authorization: `Bearer ${KEY}` },
  });
  const worker = {
    name,
    onAssignment,
    send: (type, data) => socket.send(JSON.stringify({ type, data })),
    close: () => {
      clearInterval(pings);
      socket.close();
    },
  };
  const pings = setInterval(() => socket.ping(), 30_000);
  socket.on('message', (text) => {
    const { type, data } = JSON.parse(text);
    if (type === 'task_assignment') worker.onAssignment(data, worker);
  });
  await once(socket, 'open');
  return worker;
}

async function create(title) {
  const response = await fetch(`${url}/v1/agent/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'Do something', title }),
  });
  return (await response.json()).run_id;
}

async function queue(count) {
  for (let made = 0; made < count; made += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - made) }, () => create('throughput')));
  }
}

/** Takes runs off the queue with nothing around it, and ends them. */
async function bareClaims(count) {
  const startedAt = performance.now();
  for (let taken = 0; taken < count;) {
    const { rowCount } = await database.query({
      name: 'claim',
      text: `WITH candidate AS (
               SELECT id FROM runs WHERE state = 'QUEUED' AND coalesce(worker_host, '') = '' AND available_at <= now()
                ORDER BY available_at, id LIMIT 8 FOR UPDATE SKIP LOCKED
             ), opened AS (
               INSERT INTO run_executions (run_id, worker_id, connection_id, claim_deadline_at, claimed_at, ended_at)
               SELECT id, 'bare', gen_random_uuid(), now(), now(), now() FROM candidate RETURNING id, run_id
             ), moved AS (
               UPDATE runs r SET state = 'SUCCEEDED', execution_id = o.id, updated_at = now() FROM opened o WHERE r.id = o.run_id
               RETURNING r.id, r.execution_id
             )
             INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type)
             SELECT gen_random_uuid(), id, execution_id, type FROM moved, unnest(ARRAY['run_assigned', 'oz_run_claimed', 'oz_run_done']) type`,
    });
    taken += (rowCount ?? 0) / 3;
  }
  return count / ((performance.now() - startedAt) / 1000);
}
