// `npm run bench:create`: how fast runs are created, beside the least that could be done for it. Three servers on one embedded PostgreSQL, each in
// a process of its own: the service; a bare `node:http` handler that writes the same rows with a statement for each table; the same
// handler with a single statement (bench/create-bare.mjs). They take turns, so that whatever else the machine does hits all, and a ratio is
// the median over the rounds. Every create is durable: fsync is on.
//
// --seconds N (of one turn, default 3)  --rounds N (default 7)  --connections N (default 32)
// Ends with exit code 1 when the service falls short of the goal.
import autocannon from 'autocannon';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

/** Runs a second, over those of the bare handler with a statement for each table. */
const GOAL = 0.5;
const KEY = 'wk-bench-key-0123456789abcdefghijklmnopqrstuv';
const WORDS =
  'fix the flaky test of the billing module and open a pull request that says why it failed in the nightly build on main'.split(
    ' ',
  );

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '7' },
    connections: { type: 'string', default: '32' },
  },
});
const [seconds, rounds, connections] = [values.seconds, values.rounds, values.connections].map(Number);

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);

const children = [];
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')));
const service = await start('lib/service.mjs', { BENCH_KEY: KEY });
const byTable = await start('create-bare.mjs', {
  BENCH_DATABASE_URL: service.databaseUrl,
  BENCH_SHAPE: 'statements',
});
const atOnce = await start('create-bare.mjs', {
  BENCH_DATABASE_URL: service.databaseUrl,
  BENCH_SHAPE: 'one',
});
const SERVERS = [
  { name: 'the service', url: `${service.url}/v1/agent/runs` },
  { name: 'bare, a statement a table', url: byTable.url },
  { name: 'bare, one statement', url: atOnce.url },
];

for (const server of SERVERS) await measure(server, 2); // warm
const results = new Map(SERVERS.map((server) => [server, []]));
for (let round = 0; round < rounds; round += 1) {
  // Who goes first changes: the next one profits or suffers from what the first left behind.
  const order = [...SERVERS.slice(round % SERVERS.length), ...SERVERS.slice(0, round % SERVERS.length)];
  for (const server of order) results.get(server).push(await measure(server, seconds));
}

console.log(`\n${connections} connections, ${rounds} rounds of ${seconds} s each, medians\n`);
console.log('server                      runs/s   p50 ms   p99 ms   ratio');
const [own] = SERVERS;
for (const server of SERVERS) {
  const turns = results.get(server);
  console.log(
    [
      server.name.padEnd(26),
      median(turns.map((turn) => turn.rate))
        .toFixed(0)
        .padStart(7),
      median(turns.map((turn) => turn.p50))
        .toFixed(1)
        .padStart(8),
      median(turns.map((turn) => turn.p99))
        .toFixed(1)
        .padStart(8),
      server === own ? '' : ratioTo(server).toFixed(2).padStart(7),
    ].join(' '),
  );
}
const ratio = ratioTo(SERVERS[1]);
console.log(
  `\nthe service creates ${ratio.toFixed(2)} of what the bare handler does, goal ${GOAL}: ${ratio >= GOAL ? 'reached' : 'FALLS SHORT'}`,
);
process.exitCode = ratio >= GOAL ? 0 : 1;
for (const child of children.slice(1)) child.kill();
children[0].send('stop');
await once(children[0], 'exit');

function ratioTo(other) {
  return median(results.get(own).map((turn, round) => turn.rate / results.get(other)[round].rate));
}

async function start(file, env) {
  const child = fork(new URL(file, import.meta.url), { env: { ...process.env, ...env } });
  children.push(child);
  const [started] = await once(child, 'message');
  return started;
}

async function measure({ name, url }, duration) {
  let made = 0;
  const result = await autocannon({
    url,
    duration,
    connections,
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    setupClient: (client) => {
      client.setBody(body((made += 1)));
      client.on('response', () => client.setBody(body((made += 1))));
    },
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${name}: ${result.non2xx} answers were no success, ${result.errors} requests failed`);
  }
  return {
    rate: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}

/** Prompts of about 500 characters whose words are in another order each time. */
function body(number) {
  const words = Array.from(
    { length: 90 },
    (_, place) => WORDS[(number * 7 + place * (1 + (number % 5))) % WORDS.length],
  );
  return JSON.stringify({ title: `Run ${number}`, prompt: words.join(' ') });
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
