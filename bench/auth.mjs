// `npm run bench:auth`: what the guard costs. The same handler twice, once public and once behind an API key, in one service on an
// embedded PostgreSQL; the service runs in a process of its own, the load (autocannon) in this one. The two routes take turns, so
// that whatever else the machine does hits both, and the ratio is the median over the pairs. CPU time is the service's alone.
//
// --seconds N (of one turn, default 2)  --rounds N (default 9)  --connections N (default 32)
// Ends with exit code 1 when the authenticated route falls short of the goal.
import autocannon from 'autocannon';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

/** Requests a second behind the guard, over those of the public route. */
const GOAL = 0.85;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '9' },
    connections: { type: 'string', default: '32' },
  },
});
const [seconds, rounds, connections] = [values.seconds, values.rounds, values.connections].map(Number);

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);

const service = fork(new URL('./auth-service.mjs', import.meta.url));
service.once('exit', () => process.exit(process.exitCode ?? 1));
process.once('exit', () => service.kill('SIGKILL'));
const [{ url, key }] = await once(service, 'message');

const ROUTES = [
  { name: 'public', path: '/bench/public' },
  { name: 'with an API key', path: '/bench/authenticated', headers: { authorization: `Bearer ${key}` } },
  // For orientation; they do other work than the two above.
  { name: 'GET /healthz', path: '/healthz' },
  {
    name: 'GET /v1/agent/runs?limit=1',
    path: '/v1/agent/runs?limit=1',
    headers: { authorization: `Bearer ${key}` },
  },
];
const [open, guarded] = ROUTES;

for (const route of ROUTES) await measure(route, 1); // warm
const results = new Map(ROUTES.map((route) => [route, []]));
for (let round = 0; round < rounds; round += 1) {
  // Who goes first changes: the second of a pair profits or suffers from what the first left behind.
  const order = round % 2 === 0 ? ROUTES : [...ROUTES].reverse();
  for (const route of order) results.get(route).push(await measure(route, seconds));
}

console.log(`\n${connections} connections, ${rounds} rounds of ${seconds} s each, medians\n`);
console.log('route                        requests/s   p50 ms   p99 ms   CPU µs a request');
for (const route of ROUTES) {
  const runs = results.get(route);
  console.log(
    [
      route.name.padEnd(26),
      median(runs.map((run) => run.rate))
        .toFixed(0)
        .padStart(12),
      median(runs.map((run) => run.p50))
        .toFixed(1)
        .padStart(8),
      median(runs.map((run) => run.p99))
        .toFixed(1)
        .padStart(8),
      median(runs.map((run) => run.cpu))
        .toFixed(0)
        .padStart(18),
    ].join(' '),
  );
}
const ratios = results.get(guarded).map((run, round) => run.rate / results.get(open)[round].rate);
const ratio = median(ratios);
console.log(
  `\nratio ${ratio.toFixed(3)} (rounds: ${ratios.map((value) => value.toFixed(2)).join(' ')}), goal ${GOAL}: ` +
    (ratio >= GOAL ? 'reached' : 'FALLS SHORT'),
);
process.exitCode = ratio >= GOAL ? 0 : 1;
service.send('stop');

async function measure({ path, headers }, duration) {
  const before = await cpuTime();
  const result = await autocannon({ url: url + path, headers, duration, connections });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${path}: ${result.non2xx} answers were no success, ${result.errors} requests failed`);
  }
  return {
    rate: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
    cpu: ((await cpuTime()) - before) / result.requests.total,
  };
}

/** Microseconds that the service has computed so far. */
async function cpuTime() {
  service.send('cpu');
  const [{ cpu }] = await once(service, 'message');
  return cpu;
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
