// `npm run bench:filters`: payload filters a second on one core, against a payload as GitHub sends it. Needs a build, no database.
import { compileFilter, MATCHED } from '../dist/automations/domain/payload-filter.js';

const GOAL = 100_000;
const SECONDS = 3;

const payload = {
  action: 'completed',
  workflow_run: {
    id: 30_433_642,
    name: 'CI',
    head_branch: 'main',
    event: 'push',
    status: 'completed',
    conclusion: 'failure',
    pull_requests: Array.from({ length: 5 }, (_, number) => ({
      number,
      base: { ref: 'main' },
      head: { ref: `b${number}` },
    })),
    head_commit: {
      id: 'a'.repeat(40),
      message: 'Fix',
      author: { name: 'Octo Cat', email: 'octo@example.com' },
    },
  },
  repository: {
    full_name: 'acme/shop',
    private: true,
    default_branch: 'main',
    topics: ['shop', 'payments', 'web'],
  },
  sender: { login: 'octocat', type: 'User' },
};

/** Of every kind: near misses, which look at everything, and matches. */
const filters = Array.from({ length: 1000 }, (_, number) => {
  const repository = {
    full_name: [`acme/service-${number}`, number % 10 === 0 ? 'acme/shop' : 'acme/other'],
  };
  switch (number % 4) {
    case 0:
      return { action: ['completed'], workflow_run: { conclusion: ['failure', 'timed_out'] }, repository };
    case 1:
      return { workflow_run: { pull_requests: { base: { ref: ['main'] }, head: { ref: [`b${number}`] } } } };
    case 2:
      return {
        repository: { topics: { in: ['payments'], not_in: ['archived'] } },
        sender: { type: { not_in: ['Bot'] } },
      };
    default:
      return {
        workflow_run: { head_branch: { exists: true }, event: { in: ['push'] } },
        release: { exists: false },
      };
  }
});

const compiled = filters.map((filter) => {
  const result = compileFilter(filter);
  if (result.outcome === 'invalid') throw new Error(JSON.stringify(result.errors));
  return result.filter;
});
const began = performance.now();
for (let round = 0; round < 20; round++) filters.forEach(compileFilter);
const compilations = (20 * filters.length * 1000) / (performance.now() - began);

let pairs = 0;
let matches = 0;
const end = performance.now() + SECONDS * 1000;
const start = performance.now();
while (performance.now() < end) {
  for (const filter of compiled) if (filter.firstFailure(payload) === MATCHED) matches += 1;
  pairs += compiled.length;
}
const rate = (pairs * 1000) / (performance.now() - start);

const figure = (value) => Math.round(value).toLocaleString('en-US').padStart(12);
console.log(`filters compiled a second       ${figure(compilations)}`);
console.log(
  `filter × payload pairs a second ${figure(rate)}  (goal ${GOAL.toLocaleString('en-US')}; ${((100 * matches) / pairs).toFixed(0)} % match)`,
);
process.exitCode = rate < GOAL ? 1 : 0;
