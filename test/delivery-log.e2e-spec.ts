import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { newUuid } from '../src/kernel/ids.js';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { SweepDeliveries } from '../src/webhooks/application/sweep-deliveries.js';
import { MAX_REJECTED } from '../src/webhooks/persistence/delivery-retention.js';
import { insertTeam, insertUser } from './support/identities.js';
import { type Answer, call, startTestApp, type TestApp } from './support/test-app.js';
import { githubSignature, insertWebhook, type NewWebhook, type TestWebhook } from './support/webhooks.js';

interface Delivery {
  delivery_id: string;
  status: string;
  status_label: string;
  received_at: string;
  identity?: { kind: string; value: string };
}
interface Page {
  deliveries: Delivery[];
  page_info: { has_next_page: boolean; next_cursor?: string };
}

let server: TestApp;

beforeAll(async () => {
  // The sweeper runs when a test says so.
  server = await startTestApp({ ROLES: 'api,ingress', WEBHOOK_FAILED_AUTH_PER_MINUTE: '0' });
});
afterAll(async () => {
  await server.close();
});

const webhook = (options: NewWebhook = {}): Promise<TestWebhook> =>
  insertWebhook({ dataSource: server.dataSource, box: server.app.get(SecretBox) }, options);

const deliver = (target: TestWebhook, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  call(server.url + target.path, 'POST', body, { Authorization: `Bearer ${target.secret}`, ...headers });

const list = (target: { uid: string }, query = ''): Promise<Answer> =>
  server.call('GET', `/v1/webhooks/${target.uid}/deliveries?${query}`);
const page = async (target: { uid: string }, query = ''): Promise<Page> => {
  const { status, body } = await list(target, query);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as Page;
};
const read = (target: TestWebhook, id: string, suffix = ''): Promise<Answer> =>
  server.call('GET', `/v1/webhooks/${target.uid}/deliveries/${id}${suffix}`);
const fieldsOf = ({ body }: Answer): string[] =>
  (body as { errors: { field: string }[] }).errors.map(({ field }) => field);

/** So many deliveries, one a minute (or as often as is said), the first so many days ago. */
async function insertDeliveries(
  webhookUid: string,
  {
    status,
    count,
    daysAgo,
    everySeconds = 60,
  }: { status: string; count: number; daysAgo: number; everySeconds?: number },
): Promise<void> {
  await server.dataSource.query(
    `INSERT INTO webhook_deliveries (id, webhook_uid, status, size_bytes, received_at, headers, payload)
     SELECT gen_random_uuid(), $1, $2, 2, now() - make_interval(days => $4) + make_interval(secs => n * $5), '{}',
            CASE WHEN $2 = 'accepted' THEN '{}'::bytea END
       FROM generate_series(1, $3) n`,
    [webhookUid, status, count, daysAgo, everySeconds],
  );
}

async function countOf(webhookUid: string, ...statuses: string[]): Promise<number> {
  const [row] = await server.dataSource.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_deliveries WHERE webhook_uid = $1 AND status = ANY ($2)`,
    [webhookUid, statuses],
  );
  return row!.count;
}

const sweep = (): Promise<void> => server.app.get(SweepDeliveries).execute();

describe('the log', () => {
  it('has every delivery with its status, and the payload of accepted ones alone', async () => {
    const target = await webhook({ scheme: 'github' });
    const body = '{"b":1.0, "a":[1]}';
    const headers = {
      'X-Hub-Signature-256': githubSignature(target.secret, body),
      'X-GitHub-Delivery': 'guid-1',
      'X-GitHub-Event': 'push',
      Cookie: 'hunter2',
    };
    const signedGarbage = {
      'X-Hub-Signature-256': githubSignature(target.secret, '{'),
      'X-GitHub-Delivery': 'g2',
    };
    await deliver(target, body, headers);
    await deliver(target, body, headers);
    await deliver(target, body, { 'X-Hub-Signature-256': `sha256=${'0'.repeat(64)}` });
    await deliver(target, '{', signedGarbage);
    await deliver(target, ' '.repeat(262_145), headers);

    const { deliveries, page_info } = await page(target);
    expect(page_info).toEqual({ has_next_page: false });
    expect(deliveries.map(({ status, status_label }) => [status, status_label])).toEqual([
      ['rejected_too_large', 'Rejected (too large)'],
      ['rejected_invalid_json', 'Rejected (invalid JSON)'],
      ['rejected_auth', 'Rejected (auth)'],
      ['duplicate', 'Duplicate'],
      ['accepted', 'Accepted'],
    ]);
    const accepted = deliveries.at(-1)!;
    expect(accepted).toEqual({
      delivery_id: expect.any(String) as unknown,
      webhook_uid: target.uid,
      status: 'accepted',
      status_label: 'Accepted',
      identity: { kind: 'provider', value: 'guid-1' },
      size_bytes: body.length,
      received_at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      headers: expect.objectContaining({ 'x-github-event': 'push' }) as unknown,
    });
    expect(deliveries[3]).toMatchObject({ duplicate_of: accepted.delivery_id });
    expect(JSON.stringify(deliveries)).not.toMatch(/hunter2|signature/);

    const one = await read(target, accepted.delivery_id);
    expect([one.status, one.body]).toEqual([200, { ...accepted, evaluations: [] }]);
    const payload = await call(
      `${server.url}/v1/webhooks/${target.uid}/deliveries/${accepted.delivery_id}/payload`,
      'GET',
    );
    expect(payload.status).toBe(200);
    expect(Object.fromEntries(payload.headers)).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(body.length),
      'x-content-type-options': 'nosniff',
      'content-disposition': `attachment; filename="delivery-${accepted.delivery_id}.json"`,
      'cache-control': 'private, no-store',
    });
    expect(payload.body).toEqual(JSON.parse(body));
    for (const { delivery_id, status } of deliveries.slice(0, 4)) {
      const answer = await read(target, delivery_id, '/payload');
      expect([status, answer.status]).toEqual([status, 404]);
    }
  });

  it('gives the very bytes back', async () => {
    const target = await webhook();
    const body = Buffer.from(
      '{"\\u00e9":1.0,"a":1,"a":2, "z":"\\u0000\\ud800","n":123456789012345678901234567890}\n',
    );
    const { body: answer } = await call(server.url + target.path, 'POST', body.toString(), {
      Authorization: `Bearer ${target.secret}`,
    });
    const { delivery_id } = answer as { delivery_id: string };
    const response = await fetch(
      `${server.url}/v1/webhooks/${target.uid}/deliveries/${delivery_id}/payload`,
      {
        headers: { Authorization: `Bearer ${(await admin()).key}` },
      },
    );
    expect(Buffer.from(await response.arrayBuffer())).toEqual(body);
  });

  it('shows what automations made of a delivery', async () => {
    const target = await webhook();
    await deliver(target, '{}');
    const { delivery_id } = (await page(target)).deliveries[0]!;
    const [plan, matched, failed] = [randomUUID(), randomUUID(), randomUUID()];
    await server.dataSource.query(
      `INSERT INTO evaluation_plans (id, webhook_uid, revision, automation_uids, failed_paths)
       VALUES ($1, $2, 1, $3, '{action}')`,
      [plan, target.uid, [matched, failed]],
    );
    await server.dataSource.query(
      `INSERT INTO delivery_outcomes (delivery_id, plan_id, outcomes) VALUES ($1, $2, '{-1,0}')`,
      [delivery_id, plan],
    );
    await server.dataSource.query(
      `INSERT INTO delivery_evaluations (delivery_id, automation_uid, webhook_uid, outcome) VALUES ($1, $2, $3, 'pending')`,
      [delivery_id, matched, target.uid],
    );
    expect((await read(target, delivery_id)).body).toMatchObject({
      evaluations: [
        { automation_uid: matched, outcome: 'pending' },
        { automation_uid: failed, outcome: 'not_matched', failed_path: 'action' },
      ],
    });
  });

  it('is read page by page, nothing twice and nothing left out, while deliveries come in', async () => {
    const target = await webhook();
    // Several in one millisecond, of several statuses.
    await server.dataSource.query(
      `INSERT INTO webhook_deliveries (id, webhook_uid, status, size_bytes, received_at, headers, payload)
       SELECT gen_random_uuid(), $1, s.status, 0, now() - make_interval(secs => n / 4), '{}',
              CASE WHEN s.status = 'accepted' THEN '\\x'::bytea END
         FROM generate_series(1, 12) n, unnest(ARRAY['accepted', 'duplicate', 'rejected_auth']) AS s (status)`,
      [target.uid],
    );
    const all = (await page(target, 'limit=200')).deliveries;
    expect(all).toHaveLength(36);
    const times = all.map(({ received_at }) => received_at);
    expect(times).toEqual([...times].sort().reverse());
    const seen: string[] = [];
    let query = 'limit=5';
    for (;;) {
      const { deliveries, page_info } = await page(target, query);
      seen.push(...deliveries.map(({ delivery_id }) => delivery_id));
      if (!page_info.has_next_page) break;
      query = `limit=5&cursor=${page_info.next_cursor!}`;
      await deliver(target, JSON.stringify(seen.length));
    }
    expect(seen).toEqual(all.map(({ delivery_id }) => delivery_id));
  });

  it('is filtered by status and time', async () => {
    const target = await webhook();
    await insertDeliveries(target.uid, { status: 'accepted', count: 10, daysAgo: 3 });
    await insertDeliveries(target.uid, { status: 'rejected_auth', count: 5, daysAgo: 2 });
    const statuses = async (query: string): Promise<string[]> =>
      (await page(target, query)).deliveries.map(({ status }) => status);
    expect(await statuses('status=rejected_auth')).toHaveLength(5);
    expect(await statuses('status=rejected_auth&status=accepted')).toHaveLength(15);
    expect(await statuses('status=duplicate')).toEqual([]);
    const all = (await page(target)).deliveries;
    const edge = all[4]!.received_at;
    expect(new Set(await statuses(`since=${edge}`))).toEqual(new Set(['rejected_auth']));
    expect(await statuses(`since=${edge}`)).toHaveLength(5);
    expect(await statuses(`until=${edge}`)).toHaveLength(10);
    expect(await statuses(`since=${edge}&until=${edge}`)).toEqual([]);
    expect(await statuses(`since=${edge.replace('Z', '%2B00:00')}`)).toHaveLength(5);
  });

  it.each([
    ['status=other', 'status'],
    ['status=accepted&status=x', 'status'],
    ['since=yesterday', 'since'],
    ['until=2026-02-30T00:00:00Z', 'until'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=x', 'limit'],
    ['cursor=nonsense', 'cursor'],
    ['cursor=a&cursor=b', 'cursor'],
  ])('?%s is a 400 that names the parameter', async (query, field) => {
    const answer = await list(await webhook(), query);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
  });

  it('takes a cursor for the list alone that it was made for', async () => {
    const [target, other] = [await webhook(), await webhook()];
    await insertDeliveries(target.uid, { status: 'accepted', count: 3, daysAgo: 1 });
    const { next_cursor: cursor = '' } = (await page(target, 'limit=1&status=accepted')).page_info;
    expect((await list(target, `limit=2&status=accepted&cursor=${cursor}`)).status).toBe(200);
    for (const answer of [
      await list(other, `limit=1&status=accepted&cursor=${cursor}`),
      await list(target, `limit=1&cursor=${cursor}`),
      await list(target, `limit=1&status=accepted&since=2026-01-01T00:00:00Z&cursor=${cursor}`),
      await list(target, `limit=1&status=accepted&cursor=${cursor.slice(0, -2)}AA`),
    ]) {
      expect([answer.status, fieldsOf(answer)]).toEqual([400, ['cursor']]);
    }
  });

  it("is nobody's but the team's", async () => {
    const [target, other] = [await webhook(), await webhook()];
    await deliver(target, '{}');
    const { delivery_id } = (await page(target)).deliveries[0]!;
    const stranger = await insertUser(server.dataSource, {
      teams: [await insertTeam(server.dataSource)],
      role: 'admin',
    });
    for (const suffix of ['', `/${delivery_id}`, `/${delivery_id}/payload`]) {
      const path = `/v1/webhooks/${target.uid}/deliveries${suffix}`;
      expect((await server.call('GET', path, undefined, stranger.headers)).status).toBe(404);
    }
    for (const id of [randomUUID(), 'nonsense', '%00']) {
      expect((await read(target, id)).status).toBe(404);
      expect((await read(target, id, '/payload')).status).toBe(404);
    }
    expect((await read(other, delivery_id)).status).toBe(404);
    expect((await read(other, delivery_id, '/payload')).status).toBe(404);
  });
});

describe('retention', () => {
  it('keeps the latest 50, and of 7 days all; what was rejected is counted apart', async () => {
    const [old, young, mixed] = [await webhook(), await webhook(), await webhook()];
    await insertDeliveries(old.uid, { status: 'accepted', count: 40, daysAgo: 30 });
    await insertDeliveries(old.uid, { status: 'duplicate', count: 40, daysAgo: 20 });
    await insertDeliveries(old.uid, { status: 'rejected_auth', count: 60, daysAgo: 30 });
    await insertDeliveries(young.uid, { status: 'accepted', count: 600, daysAgo: 6 });
    await insertDeliveries(young.uid, { status: 'rejected_too_large', count: 60, daysAgo: 6 });
    await insertDeliveries(mixed.uid, { status: 'accepted', count: 1200, daysAgo: 8 });
    await insertDeliveries(mixed.uid, { status: 'accepted', count: 45, daysAgo: 1 });

    await Promise.all([sweep(), sweep()]);

    expect(await countOf(old.uid, 'duplicate')).toBe(40);
    expect(await countOf(old.uid, 'accepted')).toBe(10);
    expect(await countOf(old.uid, 'rejected_auth')).toBe(50);
    expect(await countOf(young.uid, 'accepted')).toBe(600);
    expect(await countOf(young.uid, 'rejected_too_large')).toBe(60);
    expect(await countOf(mixed.uid, 'accepted')).toBe(50);
    const kept = await server.dataSource.query<{ received_at: Date }[]>(
      'SELECT received_at FROM webhook_deliveries WHERE webhook_uid = $1 ORDER BY received_at',
      [mixed.uid],
    );
    // The latest of the old ones, not just any.
    expect(kept[5]!.received_at.getTime() - kept[4]!.received_at.getTime()).toBeGreaterThan(86_400_000);
    expect(kept[4]!.received_at.getTime() - kept[0]!.received_at.getTime()).toBe(4 * 60_000);
  });

  it('keeps a flood of rejected deliveries within bounds, and the accepted ones out of it', async () => {
    const target = await webhook();
    await insertDeliveries(target.uid, { status: 'accepted', count: 20, daysAgo: 6 });
    await insertDeliveries(target.uid, {
      status: 'rejected_auth',
      count: MAX_REJECTED,
      daysAgo: 6,
      everySeconds: 1,
    });
    await insertDeliveries(target.uid, {
      status: 'rejected_invalid_json',
      count: 1_500,
      daysAgo: 1,
      everySeconds: 1,
    });
    await sweep();
    expect(await countOf(target.uid, 'rejected_invalid_json')).toBe(1_500);
    expect(await countOf(target.uid, 'rejected_auth')).toBe(MAX_REJECTED - 1_500);
    expect(await countOf(target.uid, 'accepted')).toBe(20);
  });

  it('leaves a delivery that waits for its evaluation, or for a run', async () => {
    const target = await webhook();
    await insertDeliveries(target.uid, { status: 'accepted', count: 60, daysAgo: 30 });
    const [queued, pending] = await server.dataSource.query<{ id: string }[]>(
      'SELECT id FROM webhook_deliveries WHERE webhook_uid = $1 ORDER BY received_at LIMIT 2',
      [target.uid],
    );
    await server.dataSource.query(
      `INSERT INTO webhook_evaluation_queue (webhook_uid, delivery_id, available_at) VALUES ($1, $2, now())`,
      [target.uid, queued!.id],
    );
    await server.dataSource.query(
      `INSERT INTO delivery_evaluations (delivery_id, automation_uid, webhook_uid, outcome) VALUES ($1, $2, $3, 'pending')`,
      [pending!.id, newUuid(), target.uid],
    );
    await sweep();
    expect(await countOf(target.uid, 'accepted')).toBe(52);
    expect((await read(target, queued!.id)).status).toBe(200);
    expect((await read(target, pending!.id)).status).toBe(200);
  });

  it('forgets what a deleted webhook and a deleted factory have left', async () => {
    const [live, deleted, orphan] = [await webhook(), await webhook(), await webhook()];
    for (const target of [live, deleted, orphan]) {
      await insertDeliveries(target.uid, { status: 'accepted', count: 20, daysAgo: 30 });
      expect((await deliver(target, '{}')).status).toBe(202);
    }
    expect((await server.call('DELETE', `/v1/webhooks/${deleted.uid}`)).status).toBe(204);
    const { body } = await server.call('GET', `/v1/webhooks/${orphan.uid}`);
    const { factory_uid } = body as { factory_uid: string };
    expect((await server.call('DELETE', `/v1/factories/${factory_uid}`)).status).toBe(204);
    await server.dataSource.query('DELETE FROM webhook_evaluation_queue');
    await sweep();
    expect(await Promise.all([live, deleted, orphan].map(({ uid }) => countOf(uid, 'accepted')))).toEqual([
      21, 1, 0,
    ]);
    const identities = await server.dataSource.query<{ webhook_uid: string }[]>(
      'SELECT webhook_uid FROM webhook_identities WHERE webhook_uid = ANY ($1)',
      [[live.uid, deleted.uid, orphan.uid]],
    );
    expect(identities).toEqual([{ webhook_uid: live.uid }]);
    // Within its factory a live webhook still knows what it has accepted.
    await deliver(live, '{}');
    expect((await page(live, 'limit=1')).deliveries[0]).toMatchObject({ status: 'duplicate' });
  });

  it('drops budgets that nobody has spent lately', async () => {
    const target = await webhook();
    await deliver(target, '{}');
    await server.dataSource.query(
      `INSERT INTO webhook_budgets (key, spent_at, granted)
       VALUES ($1, ARRAY[now() - interval '3 minutes'], 1), ($2, '{}', 0), ($3, ARRAY[now() - interval '3 minutes', now()], 1)`,
      [randomUUID(), randomUUID(), randomUUID()],
    );
    await sweep();
    const rows = await server.dataSource.query<object[]>(
      `SELECT 1 FROM webhook_budgets WHERE coalesce(spent_at[cardinality(spent_at)], '-infinity') < now() - interval '2 minutes'`,
    );
    expect(rows).toEqual([]);
    const kept = await server.dataSource.query<object[]>('SELECT 1 FROM webhook_budgets WHERE key = $1', [
      target.uid,
    ]);
    expect(kept).toHaveLength(1);
  });
});

const admin = () =>
  server.dataSource
    .query<{ uid: string }[]>('SELECT uid FROM teams ORDER BY created_at, uid LIMIT 1')
    .then(([team]) => insertUser(server.dataSource, { teams: [team!.uid], role: 'admin' }));
