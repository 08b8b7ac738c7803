import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { QueryRunner } from 'typeorm';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { type ProxiedApp, startProxiedApp } from './support/proxied-app.js';
import { type Answer, call, lockAwaited } from './support/test-app.js';
import { insertWebhook, type TestWebhook } from './support/webhooks.js';

let proxied: ProxiedApp;
/** Whose budget somebody may hold. */
let held: TestWebhook;
let other: TestWebhook;

beforeAll(async () => {
  proxied = await startProxiedApp();
});
afterAll(() => proxied.close());

beforeEach(async () => {
  const { dataSource, app } = proxied.app;
  const webhook = () => insertWebhook({ dataSource, box: app.get(SecretBox) });
  held = await webhook();
  other = await webhook();
  // Known and with a budget, so that what comes later is one statement.
  expect(statusesOf(await Promise.all([deliver(held, 'first'), deliver(other, 'first')]))).toEqual([
    202, 202,
  ]);
});

const deliver = ({ path, secret }: TestWebhook, text: string): Promise<Answer> =>
  call(proxied.app.url + path, 'POST', JSON.stringify(text), { Authorization: `Bearer ${secret}` });

const statusesOf = (answers: Answer[]): number[] => answers.map(({ status }) => status);

const accepted = async ({ uid }: TestWebhook): Promise<number> => {
  const [row] = await proxied.direct.dataSource.query<{ count: number }[]>(
    `SELECT count(*)::integer AS count FROM webhook_deliveries WHERE webhook_uid = $1 AND status = 'accepted'`,
    [uid],
  );
  return row!.count;
};

const TEXTS = Array.from({ length: 20 }, () => randomUUID());

/** Two batches on their way: the first waits for a budget that somebody else holds, and the second for the first. */
async function twoBatches(): Promise<{ answers: Promise<Answer[]>; release: () => Promise<void> }> {
  const holder: QueryRunner = proxied.direct.dataSource.createQueryRunner();
  await holder.startTransaction();
  await holder.query('SELECT 1 FROM webhook_budgets WHERE key = $1 FOR UPDATE', [held.uid]);
  const first = deliver(held, 'second');
  await lockAwaited(proxied.direct);
  const secondOnItsWay = proxied.proxy.passing((bytes) => TEXTS.some((text) => bytes.includes(text)));
  const second = TEXTS.map((text) => deliver(other, text));
  await secondOnItsWay;
  return {
    answers: Promise.all([first, ...second]),
    release: async () => {
      await holder.rollbackTransaction();
      await holder.release();
    },
  };
}

it('the second of two batches is recorded once the first is', async () => {
  const { answers, release } = await twoBatches();
  await release();
  expect(new Set(statusesOf(await answers))).toEqual(new Set([202]));
  expect([await accepted(held), await accepted(other)]).toEqual([2, 1 + TEXTS.length]);
});

it('a batch that takes too long fails by itself, and the one behind it is recorded', async () => {
  const { answers, release } = await twoBatches();
  try {
    const [first, ...second] = await answers;
    expect(first!.status).toBe(503);
    expect(first!.headers.get('retry-after')).not.toBeNull();
    expect(new Set(statusesOf(second))).toEqual(new Set([202]));
    expect([await accepted(held), await accepted(other)]).toEqual([1, 1 + TEXTS.length]);
  } finally {
    await release();
  }
});

it('what is on its way when the connection is lost is answered 503, and recorded once when it is sent again', async () => {
  const { answers, release } = await twoBatches();
  proxied.proxy.interrupt();
  expect(new Set(statusesOf(await answers))).toEqual(new Set([503]));
  await release();
  expect((await deliver(held, 'second')).status).toBe(503);
  proxied.proxy.resume();
  const again = await Promise.all([deliver(held, 'second'), ...TEXTS.map((text) => deliver(other, text))]);
  expect(new Set(statusesOf(again))).toEqual(new Set([202]));
  expect([await accepted(held), await accepted(other)]).toEqual([2, 1 + TEXTS.length]);
});

it('a network that swallows everything is answered 503 as well, within a bound', async () => {
  proxied.proxy.freeze();
  const answers = await Promise.all(TEXTS.map((text) => deliver(other, text)));
  expect(new Set(statusesOf(answers))).toEqual(new Set([503]));
  proxied.proxy.resume();
  const again = await Promise.all(TEXTS.map((text) => deliver(other, text)));
  expect(new Set(statusesOf(again))).toEqual(new Set([202]));
  expect(await accepted(other)).toBe(1 + TEXTS.length);
}, 60_000);
