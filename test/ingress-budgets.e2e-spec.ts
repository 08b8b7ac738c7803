import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { type Answer, call, startTestApp, type TestApp } from './support/test-app.js';
import { insertWebhook, type TestWebhook } from './support/webhooks.js';

const DELIVERIES = 60;
const FAILURES = 20;

let replicas: [TestApp, TestApp];
let sequence = 0;

beforeAll(async () => {
  const environment = {
    WEBHOOK_DELIVERIES_PER_MINUTE: String(DELIVERIES),
    WEBHOOK_FAILED_AUTH_PER_MINUTE: String(FAILURES),
    TRUSTED_PROXIES: '1',
  };
  const first = await startTestApp(environment);
  replicas = [first, await startTestApp(environment, first)];
});
afterAll(async () => {
  await replicas[1].close();
  await replicas[0].close();
});

const database = () => replicas[0].dataSource;
const webhook = (): Promise<TestWebhook> =>
  insertWebhook({ dataSource: database(), box: replicas[0].app.get(SecretBox) });

/** Never the same twice, to the replicas in turn. */
function send(
  { path, secret }: TestWebhook,
  options: { secret?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const to = replicas[(sequence += 1) % 2]!;
  const Authorization = `Bearer ${options.secret ?? secret}`;
  return call(to.url + path, 'POST', options.body ?? String(sequence), { Authorization, ...options.headers });
}

const many = (count: number, work: () => Promise<Answer>) =>
  Promise.all(Array.from({ length: count }, () => work()));
const countOf = (answers: Answer[], status: number) =>
  answers.filter((answer) => answer.status === status).length;
const retryAfter = (answer: Answer) => Number(answer.headers.get('retry-after'));
const logged = async ({ uid }: TestWebhook, status: string): Promise<number> => {
  const [row] = await database().query<{ count: number }[]>(
    'SELECT count(*)::int AS count FROM webhook_deliveries WHERE webhook_uid = $1 AND status = $2',
    [uid, status],
  );
  return row!.count;
};

/** Lets time pass for every budget, and for what the replicas remember of them. */
const restore: (() => void)[] = [];
afterEach(() => {
  for (const undo of restore.splice(0)) undo();
});
async function pass(seconds: number): Promise<void> {
  await database().query(
    `UPDATE webhook_budgets SET spent_at = ARRAY(SELECT t - make_interval(secs => $1) FROM unnest(spent_at) AS t ORDER BY t)`,
    [seconds],
  );
  const { performance } = globalThis;
  const now = performance.now.bind(performance);
  performance.now = () => now() + seconds * 1000;
  restore.push(() => {
    performance.now = now;
  });
}

describe("a webhook's deliveries", () => {
  it('are as many as the budget in any 60 seconds, over two replicas that are asked at once', async () => {
    const target = await webhook();
    const began = Date.now();
    const answers = await many(150, () => send(target));
    const secondsTaken = Math.ceil((Date.now() - began) / 1000);
    expect([countOf(answers, 202), countOf(answers, 429)]).toEqual([DELIVERIES, 150 - DELIVERIES]);
    expect(await logged(target, 'accepted')).toBe(DELIVERIES);
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expect(answer.body).toMatchObject({ error_code: 'rate_limited', retryable: true });
      expect(retryAfter(answer)).toBeGreaterThanOrEqual(60 - secondsTaken);
      expect(retryAfter(answer)).toBeLessThanOrEqual(60);
    }
  });

  it('have room again after exactly as many seconds as the answer says', async () => {
    const target = await webhook();
    expect(countOf(await many(DELIVERIES - 1, () => send(target)), 202)).toBe(DELIVERIES - 1);
    await pass(30);
    expect((await send(target)).status).toBe(202);
    const refused = await send(target);
    expect(refused.status).toBe(429);
    const seconds = retryAfter(refused);
    expect(seconds).toBeGreaterThan(25);
    expect(seconds).toBeLessThanOrEqual(30);
    await pass(seconds - 2);
    expect((await send(target)).status).toBe(429);
    await pass(2);
    // The minute slides: what was spent half a minute later is still spent.
    const answers = await many(DELIVERIES, () => send(target));
    expect(countOf(answers, 202)).toBe(DELIVERIES - 1);
  });

  it('that are too many cost the database nothing more', async () => {
    const target = await webhook();
    // More than the budget to each replica: both have been told.
    await many(2 * DELIVERIES + 2, () => send(target));
    const row = () => database().query('SELECT xmin FROM webhook_budgets WHERE key = $1', [target.uid]);
    const before = await row();
    expect(countOf(await many(40, () => send(target)), 429)).toBe(40);
    expect(await row()).toEqual(before);
  });

  it('spend it with duplicates and bad JSON too, and not with what is no delivery of theirs', async () => {
    const [target, other] = [await webhook(), await webhook()];
    for (let time = 0; time < 3; time++) expect((await send(target, { body: '"same"' })).status).toBe(202);
    expect((await send(target, { body: '{' })).status).toBe(400);
    expect((await send(target, { secret: 'wrong' })).status).toBe(401);
    expect(countOf(await many(100, () => send(target)), 202)).toBe(DELIVERIES - 4);
    expect((await send(other)).status).toBe(202);
  });
});

describe('failed authentications', () => {
  const from = (address: string) => ({
    headers: { 'X-Forwarded-For': `6.6.6.6, ${address}` },
    secret: 'wrong',
  });

  it('have a budget for each client, which the right sender never feels', async () => {
    const target = await webhook();
    const began = Date.now();
    const answers = await many(FAILURES + 15, () => send(target, from('198.51.100.7')));
    expect([countOf(answers, 401), countOf(answers, 429)]).toEqual([FAILURES, 15]);
    expect(await logged(target, 'rejected_auth')).toBe(FAILURES);
    const refused = await send(target, from('198.51.100.7'));
    expect(retryAfter(refused)).toBeGreaterThanOrEqual(60 - Math.ceil((Date.now() - began) / 1000));
    expect((await send(target, from('198.51.100.8'))).status).toBe(401);
    expect((await send(target, { headers: { 'X-Forwarded-For': '198.51.100.7' } })).status).toBe(202);
  });

  it('are counted against the network of an IPv6 client, and not against what a client makes up', async () => {
    const target = await webhook();
    const answers = await many(FAILURES + 5, () =>
      send(target, from(`2001:db8:1:2::${(sequence += 1).toString(16)}`)),
    );
    expect(countOf(answers, 429)).toBe(5);
    expect((await send(target, from('2001:db8:1:3::1'))).status).toBe(401);
  });
});

it('no budget holds what has no limit', async () => {
  const unlimited = await startTestApp(
    { WEBHOOK_DELIVERIES_PER_MINUTE: '0', WEBHOOK_FAILED_AUTH_PER_MINUTE: '0' },
    replicas[0],
  );
  try {
    const target = await webhook();
    const to = unlimited.url + target.path;
    const answers = await many(100, () =>
      call(to, 'POST', String((sequence += 1)), { Authorization: `Bearer ${target.secret}` }),
    );
    expect(countOf(answers, 202)).toBe(100);
    const [row] = await database().query<{ count: number }[]>(
      'SELECT count(*)::int AS count FROM webhook_budgets WHERE key = $1',
      [target.uid],
    );
    expect(row!.count).toBe(0);
  } finally {
    await unlimited.close();
  }
});
