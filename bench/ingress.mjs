// `npm run bench:ingress`: how many deliveries a second the ingress takes in, beside the least that could do the same promise.
//
// The service runs in a process of its own on an embedded PostgreSQL with durable commits; the load (bench/lib/http-load.mjs) in this one. In the same
// run, on the same server: a bare node:http handler that checks the HMAC and does one durable insert a request through pg, and a
// pipelining client that does nothing but that insert. Budgets are raised, not switched off: all of their code runs.
//
// --seconds N (of one turn, 5)  --rounds N (3)  --connections N (64)  --webhooks N (5000)  --identities N (10000000; 0 = leave that part out)
// Ends with exit code 1 when a goal is missed.
import { fork } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { load as sendRequests } from './lib/http-load.mjs';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

const GOALS = { overBare: 1.5, p99AtHalfRateMs: 10, slowerWithIdentities: 1.5 };

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    webhooks: { type: 'string', default: '5000' },
    identities: { type: 'string', default: '10000000' },
  },
});
const [seconds, rounds, connections, webhookCount, identities] = [
  values.seconds,
  values.rounds,
  values.connections,
  values.webhooks,
  values.identities,
].map(Number);

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);

const service = fork(new URL('./ingress-service.mjs', import.meta.url), [String(webhookCount)]);
service.once('exit', () => process.exit(process.exitCode ?? 1));
const [{ url, bareUrl, bearer, github }] = await once(service, 'message');

let sequence = 0;
const padding = 'x'.repeat(940);
/** 1 KB, never the same twice. */
const body = () =>
  `{"sequence":"${String((sequence += 1)).padStart(12, '0')}","event":"push","text":"${padding}"}`;
const pick = (webhooks) => webhooks[sequence % webhooks.length];
const sign = (secret, text) => `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`;

const ROUTES = {
  bearer: {
    url,
    make: () => {
      const { path, secret } = pick(bearer);
      return { path, body: body(), headers: { authorization: `Bearer ${secret}` } };
    },
  },
  github: {
    url,
    make: () => {
      const { path, secret } = pick(github);
      const text = body();
      return {
        path,
        body: text,
        headers: { 'x-hub-signature-256': sign(secret, text), 'x-github-delivery': `d-${sequence}` },
      };
    },
  },
  bare: {
    url: bareUrl,
    make: () => {
      const text = body();
      return { path: '/', body: text, headers: { 'x-hub-signature-256': sign('bare', text) } };
    },
  },
};

// Each webhook is met once, so that no turn pays for the first reads.
for (const route of Object.values(ROUTES)) await load(route, 3);
const results = { bearer: [], github: [], bare: [], pipelined: [] };
for (let round = 0; round < rounds; round += 1) {
  const order = Object.keys(ROUTES);
  for (const name of round % 2 === 0 ? order : order.reverse()) {
    results[name].push(await load(ROUTES[name], seconds));
  }
  results.pipelined.push(await ask({ insert: seconds }));
}
const rate = Object.fromEntries(
  Object.entries(results).map(([name, runs]) => [name, median(runs.map((r) => r.rate))]),
);

console.log(
  `\n${webhookCount} webhooks, 1 KB, ${connections} connections, ${rounds} rounds of ${seconds} s, medians\n`,
);
console.log(
  'what                                       accepted/s   p50 ms   p99 ms   CPU µs (service and database)',
);
row('node:http + pg, one durable insert each', results.bare);
row('pipelined client, that insert alone', results.pipelined);
row('ingress, bearer token', results.bearer);
row('ingress, github signature', results.github);

const half = Math.floor(rate.github / 2);
const atHalf = await load(ROUTES.github, seconds * 2, half);
row(`ingress, github, at half of that (${half}/s)`, [atHalf]);
const bareAtHalf = await load(ROUTES.bare, seconds, Math.floor(rate.bare / 2));
row('node:http + pg at half of its own', [bareAtHalf]);

const goals = [
  ['times the bare handler, bearer', rate.bearer / rate.bare, GOALS.overBare, 'at least'],
  ['times the bare handler, github', rate.github / rate.bare, GOALS.overBare, 'at least'],
  ['ms p99 at half of the maximum rate', atHalf.p99, GOALS.p99AtHalfRateMs, 'at most'],
];
if (identities > 0) {
  const started = performance.now();
  await ask({ identities });
  console.log(
    `\n${identities} identities remembered (made in ${((performance.now() - started) / 1000).toFixed(0)} s)`,
  );
  await load(ROUTES.github, 3);
  const runs = [];
  for (let round = 0; round < rounds; round += 1) runs.push(await load(ROUTES.github, seconds));
  row('ingress, github signature', runs);
  goals.push([
    'times slower with the identities',
    rate.github / median(runs.map((run) => run.rate)),
    GOALS.slowerWithIdentities,
    'at most',
  ]);
}

console.log('');
for (const [what, value, goal, direction] of goals) {
  const reached = direction === 'at least' ? value >= goal : value <= goal;
  console.log(
    `${value.toFixed(2)} ${what}, goal ${direction} ${goal}: ${reached ? 'reached' : 'FALLS SHORT'}`,
  );
  if (!reached) process.exitCode = 1;
}
service.send('stop');

async function load({ url: target, make }, duration, requestsPerSecond) {
  const { cpu } = await ask('cpu');
  const result = await sendRequests({
    url: target,
    connections,
    seconds: duration,
    make,
    rate: requestsPerSecond,
  });
  return { ...result, cpu: ((await ask('cpu')).cpu - cpu) / result.count };
}

async function ask(message) {
  service.send(message);
  const [answer] = await once(service, 'message');
  return answer;
}

function row(name, runs) {
  const figure = (key, digits) => median(runs.map((run) => run[key])).toFixed(digits);
  console.log(
    [
      name.padEnd(42),
      figure('rate', 0).padStart(10),
      figure('p50', 1).padStart(8),
      figure('p99', 1).padStart(8),
      runs[0].cpu === undefined ? '' : figure('cpu', 0).padStart(8),
    ].join(' '),
  );
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
