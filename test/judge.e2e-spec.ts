import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { RunScore, Scorer } from './support/scores.js';
import { ServiceProcess } from './support/service-process.js';
import { eventually } from './support/test-app.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

let directory: string;
let database: TestDatabase;
let client: pg.Client;
let service: ServiceProcess | undefined;
let agent: string;

/** On the one database, with a built-in worker, in a process that the test can kill. */
async function start(environment: Record<string, string> = {}): Promise<ServiceProcess> {
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    DATA_DIR: join(directory, 'data'),
    // The tests ask often.
    API_REQUESTS_PER_MINUTE: '0',
    ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...environment,
  });
  return service;
}

async function made<T>(server: ServiceProcess, method: string, path: string, body: object): Promise<T> {
  const answer = await server.call(method, `/v1/${path}`, body);
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body as T;
}

const scoresOf = async (server: ServiceProcess, runId: string): Promise<RunScore[]> => {
  const answer = await server.call('GET', `/v1/agent/runs/${runId}/scores`);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return (answer.body as { scores: RunScore[] }).scores;
};

/** The judge without a model: its rubric brings the commands that grade and report. */
const rubric = (scorerId: number): string => `Did the run greet anybody?

\`\`\`bash
set -e
cd "$MILLWRIGHT_ATTACHMENTS_DIR"
cat > judge.mjs <<'SCRIPT'
import { readFile } from 'node:fs/promises';
const { run_id: runId, state } = JSON.parse(await readFile('run.json', 'utf8'));
const greeted = (await readFile('transcript.jsonl', 'utf8')).includes('hello from the graded run');
const root = process.env.WARP_SERVER_ROOT_URL.replace(/\\/$/, '');
const answer = await fetch(root + '/v1/agent/runs/' + runId + '/scores', {
  method: 'POST',
  headers: { Authorization: 'Bearer ' + process.env.WARP_API_KEY, 'Content-Type': 'application/json' },
  body: JSON.stringify({
    results: [{ scorer_id: ${String(scorerId)}, classification: greeted ? 'greeted' : 'silent', reason: 'The run ' + state }],
  }),
});
if (answer.status !== 200) throw new Error(String(answer.status) + await answer.text());
SCRIPT
node judge.mjs
\`\`\``;

async function scorerWithCommands(server: ServiceProcess, name: string, agents: string[]): Promise<Scorer> {
  const settings = {
    name,
    rubric: 'To come',
    agent_uids: agents,
    labels: [
      { value: 'greeted', score: 1 },
      { value: 'silent', score: 0 },
    ],
    passing_score: 1,
    sampling_rate: 1,
  };
  const scorer = await made<Scorer>(server, 'POST', 'scorers', settings);
  return made(server, 'PUT', `scorers/${String(scorer.id)}`, { ...settings, rubric: rubric(scorer.id) });
}

async function startRun(server: ServiceProcess, commands: string): Promise<string> {
  const run = await made<{ run_id: string }>(server, 'POST', 'agent/runs', {
    prompt: `\`\`\`bash\n${commands}\n\`\`\``,
    agent_identity_uid: agent,
  });
  return run.run_id;
}

const graded = (server: ServiceProcess, runId: string): Promise<RunScore> =>
  eventually(
    async () => {
      const [score] = await scoresOf(server, runId);
      return score !== undefined && score.status !== 'pending' ? score : undefined;
    },
    { withinMs: 75_000, what: 'the verdict' },
  );

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millwright-judge-'));
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await service?.stop();
  await client.end();
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

describe('a service with a built-in worker', () => {
  it('has a finished run judged by the script harness, and its verdict in', async () => {
    const server = await start();
    agent = (await made<{ uid: string }>(server, 'POST', 'agent/identities', { name: 'Greeter' })).uid;
    const { agents } = (await server.call('GET', '/v1/agent/identities')).body as {
      agents: { uid: string }[];
    };
    // The judge's own agent among them: the judge is not graded all the same.
    const scorer = await scorerWithCommands(
      server,
      'Greets',
      agents.map(({ uid }) => uid),
    );

    const trace = join(directory, 'trace');
    const greeting = await startRun(server, `echo executed >> ${trace}\necho hello from the graded run`);
    expect(await graded(server, greeting)).toMatchObject({
      scorer_id: scorer.id,
      status: 'scored',
      sampled: true,
      classification: 'greeted',
      score: 1,
      passed: true,
      reason: 'The run SUCCEEDED',
    });
    const silent = await startRun(server, 'exit 3');
    expect(await graded(server, silent)).toMatchObject({
      classification: 'silent',
      score: 0,
      passed: false,
      reason: 'The run FAILED',
    });
    // The judge has read the commands of the run in its files, and executed none of them.
    expect(await readFile(trace, 'utf8')).toBe('executed\n');

    const { results } = (await server.call('GET', `/v1/scorers/${String(scorer.id)}/results`)).body as {
      results: { run_id: string }[];
    };
    expect(results.map(({ run_id: runId }) => runId)).toEqual([silent, greeting]);

    const [{ judge_run_id: judge = '' } = {}] = await scoresOf(server, greeting);
    expect(await server.reaches(judge, ['SUCCEEDED'])).toMatchObject({ source: 'RUN_SCORER' });
    await eventually(
      async () => {
        const { rows } = await client.query('SELECT 1 FROM run_executions WHERE end_handled_at IS NULL');
        return rows.length === 0 ? true : undefined;
      },
      { what: 'all ends being seen to' },
    );
    expect(await scoresOf(server, judge)).toEqual([]);
    await server.stop();
  }, 240_000);

  it('has each run judged once that ended while no sweeper lived, or just before one was killed', async () => {
    const before = await start({ ROLES: 'api,dispatcher' });
    const runIds: string[] = [];
    for (let run = 0; run < 3; run++) runIds.push(await startRun(before, 'echo hello from the graded run'));
    for (const runId of runIds) {
      await before.reaches(runId, ['SUCCEEDED']);
      expect(await scoresOf(before, runId)).toEqual([]);
    }
    // A run is told to have succeeded by its runner; its end is the worker's report, which a kill right now could prevent.
    await eventually(
      async () => {
        const { rows } = await client.query('SELECT 1 FROM run_executions WHERE ended_at IS NULL');
        return rows.length === 0 ? true : undefined;
      },
      { what: 'the ends of all executions' },
    );
    await before.stop('SIGKILL');

    // Killed as soon as the first end is seen to: somewhere between that and the dispatch of the last judge.
    const sweeping = await start({ WORKER_SLOTS: '0' });
    await eventually(
      async () => {
        const { rows } = await client.query('SELECT 1 FROM evaluations WHERE run_id = ANY ($1)', [runIds]);
        return rows.length > 0 ? true : undefined;
      },
      { what: 'the first evaluation' },
    );
    await sweeping.stop('SIGKILL');
    // What the killed one had in hand comes again after a minute; that is now.
    await client.query('UPDATE evaluations SET dispatch_at = now() WHERE judge_run_id IS NULL');

    const after = await start();
    for (const runId of runIds) {
      expect(await graded(after, runId)).toMatchObject({ status: 'scored', classification: 'greeted' });
      expect(await scoresOf(after, runId)).toHaveLength(1);
    }
    const { rows } = await client.query<{ judges: string }>(
      `SELECT count(*) AS judges FROM runs WHERE source = 'RUN_SCORER' AND parent_run_id = ANY ($1) GROUP BY parent_run_id`,
      [runIds],
    );
    expect(rows).toEqual(runIds.map(() => ({ judges: '1' })));
    await after.stop();
  }, 240_000);
});
