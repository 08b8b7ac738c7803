import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  type Automation,
  automationRequest,
  createAutomation,
  deliver,
  insertDeliveries,
  insertFactory,
  insertWebhookInto,
  type TestFactory,
} from './support/automations.js';
import { firstTeam, insertTeam, insertUser } from './support/identities.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let factory: TestFactory;

beforeAll(async () => {
  server = await startTestApp({ WORKER_SLOTS: '0', ROLES: 'api,ingress' });
  factory = await insertFactory(server);
});
afterAll(() => server.close());

const path = (): string => `/v1/factories/${factory.uid}/automations`;
const create = (request: object): Promise<Answer> => server.call('POST', path(), request);
const fieldsOf = ({ status, body }: Answer): string[] => {
  expect(status).toBe(400);
  return (body as { errors: { field: string }[] }).errors.map(({ field }) => field);
};

describe('an automation', () => {
  it('is made, read, replaced, listed and deleted', async () => {
    const request = automationRequest(
      factory.webhook,
      { action: ['opened'] },
      { name: 'Triage', config: { idle_timeout_minutes: 5 } },
    );
    const made = await create(request);
    expect([made.status, made.body]).toEqual([
      201,
      {
        ...request,
        uid: expect.any(String) as unknown,
        factory_uid: factory.uid,
        enabled: true,
        created_at: expect.any(String) as unknown,
        updated_at: expect.any(String) as unknown,
      },
    ]);
    const { uid } = made.body as Automation;
    expect((await server.call('GET', `/v1/automations/${uid}`)).body).toEqual(made.body);

    const replaced = await server.call('PUT', `/v1/automations/${uid}`, {
      name: 'TRIAGE',
      enabled: false,
      prompt: 'Do nothing.',
      triggers: [],
    });
    expect(replaced).toMatchObject({ status: 200, body: { name: 'TRIAGE', enabled: false, triggers: [] } });
    expect(replaced.body).not.toHaveProperty('config');
    const { body } = await server.call('GET', path());
    expect((body as { automations: Automation[] }).automations).toEqual([replaced.body]);

    expect((await server.call('DELETE', `/v1/automations/${uid}`)).status).toBe(204);
    expect((await server.call('GET', `/v1/automations/${uid}`)).status).toBe(404);
    expect((await server.call('DELETE', `/v1/automations/${uid}`)).status).toBe(404);
  });

  it('has a name of its own in its factory, in whatever case, however many ask at once', async () => {
    const answers = await Promise.all(
      ['Twin', 'twin', 'TWIN', 'tWIN'].map((name) =>
        create(automationRequest(factory.webhook, {}, { name })),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const other = await createAutomation(server, factory);
    const renamed = automationRequest(factory.webhook, {}, { name: 'tWiN' });
    expect((await server.call('PUT', `/v1/automations/${other}`, renamed)).status).toBe(409);
  });

  it.each<[what: string, rest: object, fields: string[]]>([
    ['no name', { name: undefined }, ['name']],
    ['a name that no file could have', { name: 'a/b' }, ['name']],
    ['an agent of nobody', { agent_uid: randomUUID() }, ['agent_uid']],
    ['an id that is none', { agent_uid: 'x' }, ['agent_uid']],
    ['neither prompt nor skill', { prompt: ' ' }, ['prompt']],
    ['a field that nobody knows', { promt: 'x' }, ['promt']],
    [
      'a configuration that is wrong',
      { config: { idle_timeout_minutes: 0 } },
      ['config.idle_timeout_minutes'],
    ],
    ['a trigger of another kind', { triggers: [{ provider: 'mail' }] }, ['triggers.0.provider']],
    [
      'webhooks of nobody, and ids that are none',
      {
        triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [randomUUID()] } }],
      },
      ['triggers.0.filter.webhook_ids.0'],
    ],
    [
      'a filter that is wrong in several places',
      {
        triggers: [
          {
            provider: 'webhook',
            event: 'received',
            filter: { webhook_ids: ['x'], payload: { a: 'b', c: { in: [] }, e: [{}] } },
          },
        ],
      },
      [
        'triggers.0.filter.webhook_ids.0',
        'triggers.0.filter.payload.a',
        'triggers.0.filter.payload.c.in',
        'triggers.0.filter.payload.e.0',
      ],
    ],
    [
      'a cron expression that never comes',
      { triggers: [{ provider: 'schedule', event: 'cron_fired', schedule: { cron: '0 0 31 2 *' } }] },
      ['triggers.0.schedule.cron'],
    ],
  ])('is refused with %s, naming it', async (_, rest, fields) => {
    expect(fieldsOf(await create(automationRequest(factory.webhook, undefined, rest)))).toEqual(fields);
  });

  it('takes a filter as it was sent, whatever its keys are called', async () => {
    const payload = { 'a.b': { $in: [1.5, '1.5', null, true] }, in: ['x'] };
    const uid = await createAutomation(server, factory, payload);
    const { body } = await server.call('GET', `/v1/automations/${uid}`);
    expect((body as Automation).triggers[0]).toMatchObject({ filter: { payload } });
  });

  it('shows that its webhook was deleted, and can still be changed', async () => {
    const lost = await insertFactory(server);
    const live = await insertWebhookInto(server, lost.uid);
    const filter = { webhook_ids: [live.uid, lost.webhook.uid] };
    const triggers = [{ provider: 'webhook', event: 'received', filter }];
    const uid = await createAutomation(server, lost, undefined, { triggers });
    await server.call('DELETE', `/v1/webhooks/${lost.webhook.uid}`);
    const { body } = await server.call('GET', `/v1/automations/${uid}`);
    const shown = (body as Automation).triggers;
    expect(shown).toEqual([
      { ...triggers[0], webhook_deleted: true, deleted_webhook_ids: [lost.webhook.uid] },
    ]);
    // As they were read: what answers alone say is no setting.
    const request = automationRequest(lost.webhook, undefined, { name: 'still here', triggers: shown });
    const replaced = await server.call('PUT', `/v1/automations/${uid}`, request);
    expect([replaced.status, replaced.body]).toMatchObject([200, { triggers: shown }]);
    const [stored] = await server.dataSource.query<{ triggers: object[] }[]>(
      'SELECT triggers FROM automations WHERE uid = $1',
      [uid],
    );
    expect(stored?.triggers).toEqual(triggers);
  });

  it('is of the team alone, and changed by those who may manage factories', async () => {
    const uid = await createAutomation(server, factory);
    const member = await insertUser(server.dataSource, { teams: [await firstTeam(server.dataSource)] });
    expect((await server.call('GET', `/v1/automations/${uid}`, undefined, member.headers)).status).toBe(200);
    expect((await server.call('DELETE', `/v1/automations/${uid}`, undefined, member.headers)).status).toBe(
      403,
    );
    const stranger = await insertUser(server.dataSource, {
      teams: [await insertTeam(server.dataSource)],
      role: 'admin',
    });
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', automationRequest(factory.webhook)],
      ['DELETE', undefined],
    ] as const) {
      expect((await server.call(method, `/v1/automations/${uid}`, body, stranger.headers)).status).toBe(404);
    }
    expect((await server.call('GET', path(), undefined, stranger.headers)).status).toBe(404);
    expect((await server.call('GET', '/v1/automations/nonsense')).status).toBe(404);
  });

  it('is one of a thousand of its factory at most, however many are made at once', async () => {
    const full = await insertFactory(server);
    await server.dataSource.query(
      `INSERT INTO automations (uid, factory_uid, name, enabled, prompt, triggers, last_editor_uid)
       SELECT gen_random_uuid(), $1, n::text, true, '', '[]', gen_random_uuid() FROM generate_series(1, 997) n`,
      [full.uid],
    );
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        server.call('POST', `/v1/factories/${full.uid}/automations`, automationRequest(full.webhook)),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 403, 403, 403]);
  });
});

describe('testing a filter', () => {
  const test = (body: object, headers?: Record<string, string>): Promise<Answer> =>
    server.call('POST', '/v1/webhook-filters/test', body, headers);

  it('tells whether a stored delivery would start a run', async () => {
    const delivery = await deliver(server, factory.webhook, { action: 'opened', labels: ['bug'] });
    const filter = { webhook_ids: [factory.webhook.uid], payload: { action: ['opened'] } };
    expect(await test({ filter, delivery_id: delivery })).toMatchObject({
      status: 200,
      body: { would_trigger: true, webhook_check: { passed: true }, payload_check: { passed: true } },
    });
    const other = { webhook_ids: [randomUUID()], payload: { labels: { not_in: ['bug'] } } };
    expect((await test({ filter: other, delivery_id: delivery })).body).toEqual({
      would_trigger: false,
      webhook_check: { passed: false, reason: 'webhook_ids does not name the webhook' },
      payload_check: {
        passed: false,
        failed_path: 'labels',
        reason: 'labels must be there and none of ["bug"]',
      },
    });
  });

  it.each<[payload: unknown, passed: boolean]>([
    [{ a: 1 }, true],
    [[{ a: 2 }, { a: 1 }], true],
    [null, false],
    ['text', false],
    [0, false],
    [false, false],
  ])('tells it of the payload %j', async (payload, passed) => {
    expect((await test({ filter: { payload: { a: [1] } }, payload })).body).toMatchObject({
      would_trigger: passed,
      payload_check: { passed },
    });
  });

  it('takes the webhook of a payload from the request', async () => {
    const filter = { webhook_ids: [factory.webhook.uid] };
    const verdict = async (webhookUid?: string): Promise<boolean> =>
      ((await test({ filter, payload: {}, webhook_uid: webhookUid })).body as { would_trigger: boolean })
        .would_trigger;
    expect([
      await verdict(factory.webhook.uid.toUpperCase()),
      await verdict(randomUUID()),
      await verdict(),
    ]).toEqual([true, false, false]);
  });

  it('tells that a webhook that was deleted starts nothing', async () => {
    const lost = await insertFactory(server);
    const delivery = await deliver(server, lost.webhook, { a: 1 });
    await server.call('DELETE', `/v1/webhooks/${lost.webhook.uid}`);
    const reason = 'The webhook was deleted';
    for (const filter of [{}, { webhook_ids: [lost.webhook.uid] }]) {
      for (const subject of [{ delivery_id: delivery }, { payload: {}, webhook_uid: lost.webhook.uid }]) {
        expect((await test({ filter, ...subject })).body).toMatchObject({
          would_trigger: false,
          webhook_check: { passed: false, reason },
          payload_check: { passed: true },
        });
      }
    }
  });

  it('refuses what cannot be tested, naming it', async () => {
    const filter = { payload: { a: [1] } };
    expect(fieldsOf(await test({ filter }))).toEqual(['delivery_id']);
    expect(fieldsOf(await test({ filter, payload: {}, delivery_id: randomUUID() }))).toEqual(['payload']);
    expect(fieldsOf(await test({ filter, delivery_id: randomUUID() }))).toEqual(['delivery_id']);
    expect(fieldsOf(await test({ filter, delivery_id: 'x' }))).toEqual(['delivery_id']);
    expect(fieldsOf(await test({ payload: {} }))).toEqual(['filter']);
    expect(fieldsOf(await test({ filter: { payload: { a: {} } }, payload: {} }))).toEqual([
      'filter.payload.a',
    ]);
    expect(fieldsOf(await test({ filter: { paylod: {} }, payload: {} }))).toEqual(['filter.paylod']);
  });

  it('knows nothing of deliveries of other teams', async () => {
    const [delivery] = await insertDeliveries(server.dataSource, factory.webhook.uid, [{ a: 1 }]);
    const stranger = await insertUser(server.dataSource, { teams: [await insertTeam(server.dataSource)] });
    const answer = await test({ filter: {}, delivery_id: delivery }, stranger.headers);
    expect(fieldsOf(answer)).toEqual(['delivery_id']);
  });
});
