import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RunKeys } from '../src/identities/index.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { firstTeam, insertUser } from './support/identities.js';
import { type Answer, eventually, startTestApp, type TestApp } from './support/test-app.js';

const LIST = '/v1/agent/runs?limit=1';
/** The promise about everything that takes a right away. */
const BITES_WITHIN_MS = 1000;

let server: TestApp;
let replica: TestApp;

beforeAll(async () => {
  server = await startTestApp({ API_REQUESTS_PER_MINUTE: '5' });
  replica = await startTestApp({ API_REQUESTS_PER_MINUTE: '0' }, server);
});
afterAll(async () => {
  await replica.close();
  await server.close();
});

const newUser = async () => insertUser(server.dataSource, { teams: [await firstTeam(server.dataSource)] });

const list = (app: TestApp, headers: Record<string, string>): Promise<Answer> =>
  app.call('GET', LIST, undefined, headers);

/** Calls without a pause while the answer is a success; @returns the first other answer and when it came, in ms from now. */
async function untilRefused(
  app: TestApp,
  headers: Record<string, string>,
): Promise<{ answer: Answer; afterMs: number }> {
  const start = performance.now();
  return eventually(async () => {
    const asked = performance.now();
    const answer = await list(app, headers);
    return answer.status === 200 ? undefined : { answer, afterMs: asked - start };
  });
}

describe('the request budget of an API key', () => {
  it('is told on every answer, also on a refusal', async () => {
    const { headers } = await newUser();
    const ok = await list(server, headers);
    expect(ok.headers.get('ratelimit-policy')).toBe('5;w=60');
    expect(ok.headers.get('ratelimit-limit')).toBe('5');
    expect(ok.headers.get('ratelimit-remaining')).toBe('4');
    expect(Number(ok.headers.get('ratelimit-reset'))).toBeGreaterThan(55);
    const elsewhere = { ...headers, 'X-Team-Uid': '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' };
    const refused = await list(server, elsewhere);
    expect(refused.status).toBe(403);
    expect(refused.headers.get('ratelimit-remaining')).toBe('3');
  });

  it('is a 429 that says when to come back once it is spent, for that key alone', async () => {
    const spender = await newUser();
    const answers = await Promise.all(Array.from({ length: 6 }, () => list(server, spender.headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429]);
    const over = answers.find(({ status }) => status === 429)!;
    expect(over.headers.get('content-type')).toContain('application/problem+json');
    expect(over.body).toMatchObject({ error_code: 'rate_limited', retryable: true });
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(55);
    expect(over.headers.get('ratelimit-remaining')).toBe('0');
    expect((await list(server, (await newUser()).headers)).status).toBe(200);
  });

  it('is not charged for requests without a valid key', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => list(server, { Authorization: 'Bearer wk-nobody' })),
    );
    expect(answers.every(({ status }) => status === 401)).toBe(true);
    expect(answers.every(({ headers }) => !headers.has('ratelimit-limit'))).toBe(true);
  });

  it('leaves what a run reports alone, so that its agent cannot silence its heartbeats', async () => {
    const creator = await newUser();
    const created = await server.call('POST', '/v1/agent/runs', { prompt: 'x' }, creator.headers);
    const { run_id: runId } = created.body as { run_id: string };
    const [key] = await server.app
      .get(Transactor)
      .run((tx) => server.app.get(RunKeys).issue(tx, [{ runId, executionId: 4711 }]));
    const headers = { Authorization: `Bearer ${key!}` };
    const reads = await Promise.all(
      Array.from({ length: 6 }, () => server.call('GET', `/v1/agent/runs/${runId}`, undefined, headers)),
    );
    expect(reads.map(({ status }) => status)).toContain(429);
    const beats = await Promise.all(
      Array.from({ length: 6 }, () => server.call('POST', '/v1/harness-support/heartbeat', {}, headers)),
    );
    expect(beats.map(({ status }) => status)).not.toContain(429);
    expect(beats.map(({ status }) => status)).not.toContain(401);
  });

  it('can be switched off', async () => {
    const { headers } = await newUser();
    const answers = await Promise.all(Array.from({ length: 8 }, () => list(replica, headers)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers[0]!.headers.has('ratelimit-limit')).toBe(false);
  });
});

describe('a right that is taken away', () => {
  it('is gone within a second on a replica that was told nothing: a key', async () => {
    const user = await newUser();
    expect((await list(replica, user.headers)).status).toBe(200);
    await server.dataSource.query('DELETE FROM api_keys WHERE user_uid = $1', [user.uid]);
    const { answer, afterMs } = await untilRefused(replica, user.headers);
    expect(answer.status).toBe(401);
    expect(afterMs).toBeLessThanOrEqual(BITES_WITHIN_MS + 50);
  });

  it('is gone within a second on a replica that was told nothing: a membership', async () => {
    const user = await newUser();
    const headers = { ...user.headers, 'X-Team-Uid': await firstTeam(server.dataSource) };
    expect((await list(replica, headers)).status).toBe(200);
    await server.dataSource.query('DELETE FROM memberships WHERE user_uid = $1', [user.uid]);
    const { answer, afterMs } = await untilRefused(replica, headers);
    expect(answer.status).toBe(403);
    expect(afterMs).toBeLessThanOrEqual(BITES_WITHIN_MS + 50);
  });
});

it('the last use of a key is noted', async () => {
  const user = await newUser();
  await list(replica, user.headers);
  await eventually(async () => {
    const [key] = await server.dataSource.query<{ last_used_at: Date | null }[]>(
      'SELECT last_used_at FROM api_keys WHERE user_uid = $1',
      [user.uid],
    );
    return key?.last_used_at ?? undefined;
  });
});
