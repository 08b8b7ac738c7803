import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { Secrets } from '../src/catalog/index.js';
import { Database } from '../src/kernel/persistence/database.js';
import { Signals } from '../src/kernel/persistence/signals.js';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { Reencryption } from '../src/kernel/security/reencryption.js';
import { SIGNATURE_SCHEMES } from '../src/webhooks/domain/signature-scheme.js';
import { SIGNATURE_HEADERS } from '../src/webhooks/domain/signatures/schemes.js';
import { webhookSecretContext } from '../src/webhooks/domain/webhook.js';
import { firstTeam, insertTeam, insertUser } from './support/identities.js';
import { type Answer, eventually, startTestApp, type TestApp } from './support/test-app.js';

interface Webhook {
  uid: string;
  name: string;
  secret?: string;
  secret_name: string;
  ingress_url: string;
  enabled: boolean;
  awaiting_secret: boolean;
}

interface Row {
  version: string;
  secret_hash: Buffer | null;
  sealed_secret: Buffer | null;
  sealed_key_id: string | null;
  enabled: boolean;
  deleted_at: Date | null;
}

type Headers = Record<string, string>;

let server: TestApp;
let team: string;
/** A managed factory with room for the tests that make a webhook each. */
let factory: string;
const logged: string[] = [];

const record = (...parts: unknown[]): void => {
  logged.push(inspect(parts, { depth: 10, maxStringLength: null }));
};
const RECORDER: LoggerService = { log: record, error: record, warn: record, debug: record, verbose: record };

beforeAll(async () => {
  server = await startTestApp({ WEBHOOK_BASE_URL: 'https://hooks.example/in/' });
  server.app.useLogger(RECORDER);
  team = await firstTeam(server.dataSource);
});
afterAll(async () => {
  await server.close();
});

const nameOf = (() => {
  let count = 0;
  return () => `hook ${String(++count)}`;
})();

async function newFactory(headers?: Headers): Promise<string> {
  const { status, body } = await server.call('POST', '/v1/factories', { name: nameOf() }, headers);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return (body as { uid: string }).uid;
}

const create = (body: object, headers?: Headers, inFactory = factory): Promise<Answer> =>
  server.call('POST', `/v1/factories/${inFactory}/webhooks`, { name: nameOf(), ...body }, headers);

async function created(body: object = {}): Promise<Webhook> {
  const answer = await create(body, undefined, await newFactory());
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body as Webhook;
}

const on = (webhook: Webhook) => ({
  get: () => server.call('GET', `/v1/webhooks/${webhook.uid}`),
  patch: (body: object) => server.call('PATCH', `/v1/webhooks/${webhook.uid}`, body),
  delete: () => server.call('DELETE', `/v1/webhooks/${webhook.uid}`),
  rotate: (body?: object) => server.call('POST', `/v1/webhooks/${webhook.uid}/rotate-secret`, body),
  supply: (body: object) => server.call('POST', `/v1/webhooks/${webhook.uid}/secret`, body),
});

async function rowOf({ uid }: Webhook): Promise<Row> {
  const [row] = await server.dataSource.query<Row[]>('SELECT * FROM webhooks WHERE uid = $1', [uid]);
  if (row === undefined) throw new Error(`there is no webhook ${uid}`);
  return row;
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The signing secret that the webhook keeps. */
async function opened(webhook: Webhook): Promise<string> {
  const { sealed_secret: ciphertext, sealed_key_id: keyId } = await rowOf(webhook);
  return server.app
    .get(SecretBox)
    .open(webhookSecretContext(webhook.uid), { ciphertext: ciphertext!, keyId: keyId! });
}

const teamSecret = async (name: string): Promise<string | undefined> =>
  (await server.app.get(Secrets).values(server.app.get(Database), team, [name])).values[name];

async function keepSecret(value: string): Promise<string> {
  const name = `S_${randomBytes(6).toString('hex')}`;
  const { status } = await server.call('POST', '/v1/secrets', { name, value, team: true });
  expect(status).toBe(201);
  return name;
}

const changeSecret = (name: string, value: string): Promise<Answer> =>
  server.call('PUT', `/v1/secrets/${name}`, { value, team: true });

const fieldsOf = ({ body }: Answer): string[] =>
  (body as { errors?: { field: string }[] }).errors?.map(({ field }) => field) ?? [];
const statusesOf = (answers: Answer[]): number[] => answers.map(({ status }) => status).sort();

describe('a webhook', () => {
  it('with a bearer token is made, shows its secret once, and keeps the hash alone', async () => {
    const uid = await newFactory();
    const answer = await create({ name: 'Nightly' }, undefined, uid);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const body = answer.body as Webhook;
    expect(body).toEqual({
      uid: expect.any(String) as unknown,
      factory_uid: uid,
      name: 'Nightly',
      auth_mode: 'token',
      secret_name: expect.stringMatching(/^WEBHOOK_NIGHTLY_[2-9A-Z]{4}$/) as unknown,
      enabled: true,
      awaiting_secret: false,
      ingress_url: `https://hooks.example/in/webhooks/w/${body.uid}`,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      secret: expect.stringMatching(/^mwhs_[A-Za-z0-9_-]{43}$/) as unknown,
    });
    const { secret, ...shown } = body;
    expect((await on(body).get()).body).toEqual(shown);
    expect((await server.call('GET', `/v1/factories/${uid}/webhooks`)).body).toEqual({ webhooks: [shown] });
    expect((await rowOf(body)).secret_hash).toEqual(sha256(secret!));
    expect((await rowOf(body)).sealed_secret).toBeNull();
    expect(await teamSecret(body.secret_name)).toBe(secret);
  });

  it('with a URL token shows the whole URL once, then a placeholder', async () => {
    const webhook = await created({ auth_mode: 'url_token' });
    expect(webhook.ingress_url).toBe(
      `https://hooks.example/in/webhooks/w/${webhook.uid}/${String(webhook.secret)}`,
    );
    expect((await on(webhook).get()).body).toMatchObject({
      ingress_url: `https://hooks.example/in/webhooks/w/${webhook.uid}/{token}`,
    });
    expect((await rowOf(webhook)).secret_hash).toEqual(sha256(webhook.secret!));
  });

  it('of a Standard Webhooks sender gets a generated secret, kept encrypted', async () => {
    const webhook = await created({ auth_mode: 'signature', signature_scheme: 'standard_webhooks' });
    expect(Buffer.from(webhook.secret!.replace('whsec_', ''), 'base64')).toHaveLength(32);
    expect(webhook).toMatchObject({ enabled: true, awaiting_secret: false });
    expect(await opened(webhook)).toBe(webhook.secret);
    expect(await teamSecret(webhook.secret_name)).toBe(webhook.secret);
    expect((await rowOf(webhook)).secret_hash).toBeNull();
  });

  it('takes a secret that is given', async () => {
    const secret = "It's a Secret to Everybody";
    const webhook = await created({ auth_mode: 'signature', signature_scheme: 'github', secret });
    expect(webhook).toMatchObject({ enabled: true, awaiting_secret: false, secret });
    expect(await opened(webhook)).toBe(secret);
  });

  it('takes the value of a secret that the team has, and shows nothing', async () => {
    const name = await keepSecret('a-URL-safe.one');
    const webhook = await created({ auth_mode: 'url_token', secret_name: name });
    expect(webhook).toMatchObject({
      secret_name: name,
      ingress_url: expect.stringMatching(/\/\{token\}$/) as unknown,
    });
    expect(webhook).not.toHaveProperty('secret');
    expect((await rowOf(webhook)).secret_hash).toEqual(sha256('a-URL-safe.one'));
  });

  it('may be disabled from the start', async () => {
    expect(await created({ enabled: false })).toMatchObject({ enabled: false, awaiting_secret: false });
  });

  it.each(SIGNATURE_SCHEMES.filter((scheme) => scheme !== 'standard_webhooks'))(
    'of %s without a secret waits for it, disabled, until the second step',
    async (scheme) => {
      const webhook = await created({ auth_mode: 'signature', signature_scheme: scheme, enabled: true });
      expect(webhook).toMatchObject({ enabled: false, awaiting_secret: true, signature_scheme: scheme });
      expect(webhook).not.toHaveProperty('secret');
      expect((await on(webhook).patch({ enabled: true })).status).toBe(409);
      expect((await on(webhook).rotate({ secret: 'too early' })).status).toBe(409);

      const supplied = await on(webhook).supply({ secret: 'issued-by-the-provider' });
      expect([supplied.status, supplied.body]).toMatchObject([
        200,
        { enabled: true, awaiting_secret: false, secret_name: webhook.secret_name },
      ]);
      expect(supplied.body).not.toHaveProperty('secret');
      expect(await opened(webhook)).toBe('issued-by-the-provider');
      expect(await teamSecret(webhook.secret_name)).toBe('issued-by-the-provider');
      expect((await on(webhook).supply({ secret: 'another' })).status).toBe(409);
      expect(await opened(webhook)).toBe('issued-by-the-provider');
    },
  );

  it('takes another name for its secret when somebody has taken the suggested one', async () => {
    const webhook = await created({ auth_mode: 'signature', signature_scheme: 'stripe' });
    await server.call('POST', '/v1/secrets', { name: webhook.secret_name, value: 'theirs', team: true });
    const { body } = await on(webhook).supply({ secret: 'whsec_stripe' });
    expect((body as Webhook).secret_name).toMatch(/^WEBHOOK_HOOK_\d+_/);
    expect((body as Webhook).secret_name).not.toBe(webhook.secret_name);
    expect(await teamSecret(webhook.secret_name)).toBe('theirs');
    expect(await teamSecret((body as Webhook).secret_name)).toBe('whsec_stripe');
  });

  it('has a name that is unique in its factory while it lives', async () => {
    const uid = await newFactory();
    const answers = await Promise.all(['a', 'A', 'a', 'A'].map((name) => create({ name }, undefined, uid)));
    expect(statusesOf(answers)).toEqual([201, 409, 409, 409]);
    const secrets = await server.dataSource.query<object[]>(
      `SELECT 1 FROM secrets WHERE name LIKE 'WEBHOOK#_A#_%' ESCAPE '#'`,
    );
    expect(secrets).toHaveLength(1);
    const first = answers.find(({ status }) => status === 201)!.body as Webhook;
    expect((await on(first).delete()).status).toBe(204);
    expect((await create({ name: 'a' }, undefined, uid)).status).toBe(201);
    expect((await create({ name: 'a' }, undefined, await newFactory())).status).toBe(201);
  });

  it('is one of twenty in its factory, however many are asked for at once', async () => {
    const uid = await newFactory();
    const answers = await Promise.all(Array.from({ length: 30 }, () => create({}, undefined, uid)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
    const refused = answers.filter(({ status }) => status === 403);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.body).toMatchObject({ error_code: 'budget_exceeded', retryable: false });
    const one = answers.find(({ status }) => status === 201)!.body as Webhook;
    await on(one).delete();
    expect((await create({}, undefined, uid)).status).toBe(201);
    expect((await create({}, undefined, uid)).status).toBe(403);
  });

  it('is not made where the team has no room for its secret', async () => {
    const full = await insertTeam(server.dataSource);
    const { headers } = await insertUser(server.dataSource, { teams: [full], role: 'admin' });
    const uid = await newFactory(headers);
    await server.dataSource.query(
      `INSERT INTO secrets (uid, team_uid, name, ciphertext, key_id)
       SELECT gen_random_uuid(), $1, 'S' || n, '', $2 FROM generate_series(1, 1000) n`,
      [full, server.app.get(SecretBox).keyId],
    );
    const refused = await create({}, headers, uid);
    expect([refused.status, refused.body]).toMatchObject([403, { error_code: 'budget_exceeded' }]);
    const { body } = await server.call('GET', `/v1/factories/${uid}/webhooks`, undefined, headers);
    expect(body).toEqual({ webhooks: [] });
  });
});

describe('what is refused', () => {
  beforeAll(async () => {
    factory = await newFactory();
  });

  it.each<[object, string]>([
    [{ name: '' }, 'name'],
    [{ name: 'a/b' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'nul\0' }, 'name'],
    [{ auth_mode: 'basic' }, 'auth_mode'],
    [{ auth_mode: 'signature' }, 'signature_scheme'],
    [{ auth_mode: 'signature', signature_scheme: 'other' }, 'signature_scheme'],
    [{ signature_scheme: 'github' }, 'signature_scheme'],
    [{ auth_mode: 'url_token', signature_scheme: 'github' }, 'signature_scheme'],
    [{ secret: 'short' }, 'secret'],
    [{ secret: 'with a space' }, 'secret'],
    [{ secret: 7 }, 'secret'],
    [{ secret: 'x'.repeat(1025) }, 'secret'],
    [{ auth_mode: 'url_token', secret: 'not/url+safe' }, 'secret'],
    [{ auth_mode: 'signature', signature_scheme: 'standard_webhooks', secret: 'whsec_c2hvcnQ=' }, 'secret'],
    [{ secret_name: 'NO_SUCH_SECRET' }, 'secret_name'],
    [{ secret_name: 'not a name' }, 'secret_name'],
    [{ secret_name: 'A', secret: 'long enough' }, 'secret'],
    [{ delivery_id_header: 'with space' }, 'delivery_id_header'],
    [{ delivery_id_header: 'x'.repeat(65) }, 'delivery_id_header'],
    [{ delivery_id_header: 'é' }, 'delivery_id_header'],
    [{ delivery_id_header: 'a:b' }, 'delivery_id_header'],
    [{ enabled: 'yes' }, 'enabled'],
    [{ team: true }, 'team'],
  ])('%j is a 400 that names the field', async (body, field) => {
    const answer = await create(body);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
  });

  it.each(['Authorization', 'COOKIE', 'proxy-authorization', 'X-Api-Key', ...SIGNATURE_HEADERS])(
    'the header %s identifies no delivery, as it carries a credential',
    async (header) => {
      const answer = await create({ delivery_id_header: header });
      expect([answer.status, fieldsOf(answer)]).toEqual([400, ['delivery_id_header']]);
      const webhook = await created();
      expect((await on(webhook).patch({ delivery_id_header: header })).status).toBe(400);
    },
  );

  it('a named secret whose value does not fit, without a word of it', async () => {
    const name = await keepSecret('pass/word hunter2');
    for (const auth_mode of ['token', 'url_token']) {
      const answer = await create({ auth_mode, secret_name: name });
      expect([answer.status, fieldsOf(answer)]).toEqual([400, ['secret_name']]);
      expect(JSON.stringify(answer.body)).not.toContain('hunter2');
    }
  });

  it("a person's own secret: a webhook takes the team's alone", async () => {
    const name = `OWN_${randomBytes(4).toString('hex')}`;
    await server.call('POST', '/v1/secrets', { name, value: 'long enough', team: false });
    expect(fieldsOf(await create({ secret_name: name }))).toEqual(['secret_name']);
  });

  it('a new name: a webhook is not renamed', async () => {
    expect(fieldsOf(await on(await created()).patch({ name: 'other' }))).toEqual(['name']);
  });

  it('a second step without a secret, or with one that cannot be it', async () => {
    const webhook = await created({ auth_mode: 'signature', signature_scheme: 'gitlab' });
    for (const body of [{}, { secret: '' }, { secret: null }, { secret: 'whsec_short' }]) {
      const answer = await on(webhook).supply(body);
      expect([answer.status, fieldsOf(answer)]).toEqual([400, ['secret']]);
    }
    expect((await on(webhook).get()).body).toMatchObject({ awaiting_secret: true, enabled: false });
  });

  it('an unknown webhook or factory, and an id that is none: 404', async () => {
    for (const uid of [randomUUID(), 'nonsense', '%00']) {
      const webhook = { uid } as Webhook;
      const { get, patch, rotate, supply } = on(webhook);
      const answers = [get(), patch({}), on(webhook).delete(), rotate(), supply({ secret: 'x' })];
      expect(statusesOf(await Promise.all(answers))).toEqual([404, 404, 404, 404, 404]);
      expect((await server.call('GET', `/v1/factories/${uid}/webhooks`)).status).toBe(404);
      expect((await create({}, undefined, uid)).status).toBe(404);
    }
  });
});

describe('toggling', () => {
  it('disables, and enables with the present value of the named secret', async () => {
    const name = await keepSecret('the-first-value');
    const webhook = await created({ secret_name: name });
    await changeSecret(name, 'the-second-value');
    expect((await on(webhook).patch({ enabled: true })).status).toBe(200);
    expect((await rowOf(webhook)).secret_hash).toEqual(sha256('the-first-value'));

    const disabled = await on(webhook).patch({ enabled: false });
    expect([disabled.status, disabled.body]).toMatchObject([200, { enabled: false }]);
    const enabled = await on(webhook).patch({ enabled: true });
    expect([enabled.status, enabled.body]).toMatchObject([200, { enabled: true, secret_name: name }]);
    expect((await rowOf(webhook)).secret_hash).toEqual(sha256('the-second-value'));
  });

  it('does not enable what its named secret no longer fits, and changes nothing then', async () => {
    const name = await keepSecret('a-good-value');
    const webhook = await created({ auth_mode: 'url_token', secret_name: name, enabled: false });
    await changeSecret(name, 'not/url safe');
    const change = { enabled: true, delivery_id_header: 'X-Id' };
    const unfit = await on(webhook).patch(change);
    expect([unfit.status, unfit.body]).toMatchObject([409, { error_code: 'conflict', retryable: false }]);
    await server.call('DELETE', `/v1/secrets/${name}?team=true`);
    expect((await on(webhook).patch(change)).status).toBe(409);
    const { body } = await on(webhook).get();
    expect(body).toMatchObject({ enabled: false });
    expect(body).not.toHaveProperty('delivery_id_header');
  });

  it('sets, keeps and clears the header of the delivery id', async () => {
    const webhook = await created({ delivery_id_header: 'X-Event-Id' });
    expect(webhook).toMatchObject({ delivery_id_header: 'X-Event-Id' });
    const { body: kept } = await on(webhook).patch({ enabled: false });
    expect(kept).toMatchObject({ delivery_id_header: 'X-Event-Id' });
    const { body: changed } = await on(webhook).patch({ delivery_id_header: 'x-other' });
    expect(changed).toMatchObject({ delivery_id_header: 'x-other', enabled: false });
    for (const cleared of [null, '']) {
      await on(webhook).patch({ delivery_id_header: 'x-other' });
      const { status, body } = await on(webhook).patch({ delivery_id_header: cleared });
      expect(status).toBe(200);
      expect(body).not.toHaveProperty('delivery_id_header');
    }
  });

  it('raises the version with whatever the ingress must honour, and with nothing else', async () => {
    const webhook = await created();
    const versions = [Number((await rowOf(webhook)).version)];
    const steps = [
      () => on(webhook).patch({}),
      () => on(webhook).patch({ enabled: true }),
      () => on(webhook).patch({ enabled: false }),
      () => on(webhook).patch({ enabled: true }),
      () => on(webhook).patch({ delivery_id_header: 'X-Id' }),
      () => on(webhook).rotate(),
      () => on(webhook).delete(),
    ];
    for (const step of steps) {
      expect((await step()).status).toBeLessThan(300);
      versions.push(Number((await rowOf(webhook)).version));
    }
    expect(versions).toEqual([1, 1, 1, 2, 3, 4, 5, 6]);
  });

  it('tells every replica, once it has committed', async () => {
    const webhook = await created();
    const heard: string[] = [];
    server.app.get(Signals).on('webhook_changed', ({ uid }) => heard.push(uid));
    await on(webhook).patch({ enabled: false });
    await eventually(() => Promise.resolve(heard.includes(webhook.uid) || undefined));
  });
});

describe('rotation', () => {
  it('shows a new secret, once; the old one is worth nothing, and the team has the new one too', async () => {
    const webhook = await created({ auth_mode: 'url_token' });
    const rotated = await on(webhook).rotate();
    expect(rotated.status).toBe(200);
    expect(rotated.headers.get('cache-control')).toBe('no-store');
    const { secret, ...shown } = rotated.body as Webhook;
    expect(secret).not.toBe(webhook.secret);
    expect(shown.ingress_url.endsWith(`/${secret!}`)).toBe(true);
    expect(shown.secret_name).toBe(webhook.secret_name);
    expect((await rowOf(webhook)).secret_hash).toEqual(sha256(secret!));
    expect(await teamSecret(webhook.secret_name)).toBe(secret);
    expect((await on(webhook).get()).body).not.toHaveProperty('secret');

    const given = await on(webhook).rotate({ secret: 'given-by-hand' });
    expect([given.status, given.body]).toMatchObject([200, { secret: 'given-by-hand' }]);
    expect(await teamSecret(webhook.secret_name)).toBe('given-by-hand');
  });

  it('leaves a shared secret as it is, and does not bring it back', async () => {
    const name = await keepSecret('shared-by-two');
    const webhook = await created({ secret_name: name });
    const other = await created({ secret_name: name });
    const { body } = await on(webhook).rotate();
    const { secret, secret_name: ownName } = body as Webhook;
    expect(ownName).toMatch(/^WEBHOOK_HOOK_\d+_[2-9A-Z]{4}$/);
    expect(await teamSecret(name)).toBe('shared-by-two');
    expect(await teamSecret(ownName)).toBe(secret);
    await on(webhook).patch({ enabled: false });
    await on(webhook).patch({ enabled: true });
    expect((await rowOf(webhook)).secret_hash).toEqual(sha256(secret!));
    expect((await rowOf(other)).secret_hash).toEqual(sha256('shared-by-two'));
  });

  it("makes the team's secret anew when somebody has deleted it", async () => {
    const webhook = await created();
    await server.call('DELETE', `/v1/secrets/${webhook.secret_name}?team=true`);
    const { status, body } = await on(webhook).rotate();
    expect(status).toBe(200);
    expect(await teamSecret((body as Webhook).secret_name)).toBe((body as Webhook).secret);
  });

  it('wants the secret of a scheme whose provider issues it, and generates that of Standard Webhooks', async () => {
    const github = await created({ auth_mode: 'signature', signature_scheme: 'github', secret: 'first' });
    for (const body of [undefined, {}, { secret: '' }])
      expect(fieldsOf(await on(github).rotate(body))).toEqual(['secret']);
    expect(await opened(github)).toBe('first');
    expect((await on(github).rotate({ secret: 'second' })).status).toBe(200);
    expect(await opened(github)).toBe('second');

    const standard = await created({ auth_mode: 'signature', signature_scheme: 'standard_webhooks' });
    expect(fieldsOf(await on(standard).rotate({ secret: 'whsec_c2hvcnQ=' }))).toEqual(['secret']);
    const { body } = await on(standard).rotate();
    expect(await opened(standard)).toBe((body as Webhook).secret);
    expect((body as Webhook).secret).not.toBe(standard.secret);
  });

  it('takes turns: of many at once one is left, the same in the webhook and in the team', async () => {
    const webhook = await created();
    const answers = await Promise.all(Array.from({ length: 8 }, () => on(webhook).rotate()));
    expect(new Set(statusesOf(answers))).toEqual(new Set([200]));
    const shown = answers.map(({ body }) => (body as Webhook).secret!);
    expect(new Set(shown).size).toBe(8);
    const { version, secret_hash: hash } = await rowOf(webhook);
    expect(Number(version)).toBe(9);
    const valid = shown.filter((secret) => sha256(secret).equals(hash!));
    expect(valid).toHaveLength(1);
    expect(await teamSecret(webhook.secret_name)).toBe(valid[0]);
  });

  it('keeps a disabled webhook disabled', async () => {
    const webhook = await created({ enabled: false });
    expect((await on(webhook).rotate()).body).toMatchObject({ enabled: false });
  });
});

describe('deletion', () => {
  it('leaves a row without a secret, which nobody can read or change', async () => {
    const webhook = await created();
    const { get, patch, rotate, supply } = on(webhook);
    expect((await on(webhook).delete()).status).toBe(204);
    const answers = [
      get(),
      patch({ enabled: true }),
      on(webhook).delete(),
      rotate(),
      supply({ secret: 'x' }),
    ];
    expect(statusesOf(await Promise.all(answers))).toEqual([404, 404, 404, 404, 404]);
    expect(await rowOf(webhook)).toMatchObject({
      enabled: false,
      secret_hash: null,
      deleted_at: expect.any(Date) as unknown,
    });
    expect(await teamSecret(webhook.secret_name)).toBe(webhook.secret);
  });

  it('against enabling and rotating: whoever comes last, it is deleted and off', async () => {
    for (let round = 0; round < 8; round++) {
      const webhook = await created({ enabled: false });
      const { patch, rotate } = on(webhook);
      const [enabled, rotated, deleted] = await Promise.all([
        patch({ enabled: true }),
        rotate(),
        on(webhook).delete(),
      ]);
      expect(deleted.status).toBe(204);
      expect([200, 404]).toContain(enabled.status);
      expect([200, 404]).toContain(rotated.status);
      expect(await rowOf(webhook)).toMatchObject({
        enabled: false,
        secret_hash: null,
        deleted_at: expect.any(Date) as unknown,
      });
    }
  });

  it('of a factory takes its webhooks along, and tells every replica', async () => {
    const webhook = await created();
    const { body } = await on(webhook).get();
    const uid = (body as { factory_uid: string }).factory_uid;
    const heard: string[] = [];
    server.app.get(Signals).on('webhook_changed', (changed) => heard.push(changed.uid));
    expect((await server.call('DELETE', `/v1/factories/${uid}`)).status).toBe(204);
    expect((await on(webhook).get()).status).toBe(404);
    await eventually(() => Promise.resolve(heard.includes(webhook.uid) || undefined));
  });

  it('of a factory and the making of webhooks in it: none is left without its factory', async () => {
    for (let round = 0; round < 5; round++) {
      const uid = await newFactory();
      const [deleted, ...answers] = await Promise.all([
        server.call('DELETE', `/v1/factories/${uid}`),
        ...Array.from({ length: 4 }, () => create({}, undefined, uid)),
      ]);
      expect(deleted.status).toBe(204);
      for (const { status } of answers) expect([201, 404]).toContain(status);
    }
    const orphans = await server.dataSource.query<object[]>(
      'SELECT 1 FROM webhooks w WHERE NOT EXISTS (SELECT FROM factories f WHERE f.uid = w.factory_uid)',
    );
    expect(orphans).toEqual([]);
  });
});

describe('a factory that a repository defines', () => {
  it('lets its webhooks be read, and changed by nobody', async () => {
    const webhook = await created();
    const waiting = await created({ auth_mode: 'signature', signature_scheme: 'stripe' });
    const of = async (one: Webhook): Promise<string> =>
      ((await on(one).get()).body as { factory_uid: string }).factory_uid;
    for (const uid of [await of(webhook), await of(waiting)])
      await server.call('PUT', `/v1/factories/${uid}`, { mode: 'repository' });
    const answers = await Promise.all([
      create({}, undefined, await of(webhook)),
      on(webhook).patch({ enabled: false }),
      on(webhook).rotate(),
      on(webhook).delete(),
      on(waiting).supply({ secret: 'whsec_x' }),
    ]);
    for (const { status, body } of answers) {
      expect([status, body]).toMatchObject([409, { error_code: 'conflict', retryable: false }]);
      expect((body as { detail: string }).detail).toMatch(/repository/);
    }
    expect((await on(webhook).get()).body).toMatchObject({ enabled: true });
    const { body } = await server.call('GET', `/v1/factories/${await of(webhook)}/webhooks`);
    expect((body as { webhooks: unknown[] }).webhooks).toHaveLength(1);
  });

  it('is closed from the moment that it is: of edits at the same time each is before or after', async () => {
    const webhook = await created();
    const { body } = await on(webhook).get();
    const uid = (body as { factory_uid: string }).factory_uid;
    const [moded, ...edits] = await Promise.all([
      server.call('PUT', `/v1/factories/${uid}`, { mode: 'repository' }),
      ...Array.from({ length: 5 }, () => on(webhook).rotate()),
    ]);
    expect(moded.status).toBe(200);
    for (const { status } of edits) expect([200, 409]).toContain(status);
    expect((await on(webhook).rotate()).status).toBe(409);
  });
});

describe('who may', () => {
  it('another team knows nothing of it; a member reads; who manages factories edits', async () => {
    const webhook = await created();
    const stranger = await insertUser(server.dataSource, {
      teams: [await insertTeam(server.dataSource)],
      role: 'admin',
    });
    const member = await insertUser(server.dataSource, { teams: [team] });
    const path = `/v1/webhooks/${webhook.uid}`;
    for (const [method, suffix, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { enabled: false }],
      ['DELETE', '', undefined],
      ['POST', '/rotate-secret', {}],
      ['POST', '/secret', { secret: 'x' }],
    ] as const) {
      expect((await server.call(method, path + suffix, body, stranger.headers)).status).toBe(404);
      const ofMember = await server.call(method, path + suffix, body, member.headers);
      expect(ofMember.status).toBe(method === 'GET' ? 200 : 403);
    }
    const uid = await newFactory();
    expect((await create({}, stranger.headers, uid)).status).toBe(404);
    expect((await create({}, member.headers, uid)).status).toBe(403);
    const of = await server.call('GET', `/v1/factories/${uid}/webhooks`, undefined, stranger.headers);
    expect(of.status).toBe(404);
  });

  it("takes no secret of another team's by its name", async () => {
    const name = await keepSecret('ours-alone');
    const { headers } = await insertUser(server.dataSource, {
      teams: [await insertTeam(server.dataSource)],
      role: 'admin',
    });
    expect(fieldsOf(await create({ secret_name: name }, headers, await newFactory(headers)))).toEqual([
      'secret_name',
    ]);
  });
});

describe('where the secret is', () => {
  it('in no log, no error and no table in the clear', async () => {
    const from = logged.length;
    const secret = 'hunter2-hunter2-hunter2';
    const hook = await created({ auth_mode: 'signature', signature_scheme: 'github', secret });
    const token = await created({ auth_mode: 'url_token', secret });
    const answers = [
      await create({ secret: `${secret} ` }),
      await create({ auth_mode: 'url_token', secret: `${secret}/` }),
      await create({ secret: secret.repeat(100) }),
      await on(hook).patch({ secret }),
      await on(hook).supply({ secret }),
      await on(token).get(),
    ];
    await server.dataSource.query('ALTER TABLE webhooks RENAME TO webhooks_away');
    answers.push(await on(token).rotate({ secret }));
    await server.dataSource.query('ALTER TABLE webhooks_away RENAME TO webhooks');
    expect(answers.at(-1)?.status).toBe(500);
    for (const { body, headers } of answers) {
      expect(JSON.stringify(body)).not.toContain('hunter2');
      expect(JSON.stringify([...headers])).not.toContain('hunter2');
    }
    expect(logged.slice(from).join('\n')).toContain('request failed');
    expect(logged.slice(from).join('\n')).not.toContain('hunter2');
    const [dump] = await server.dataSource.query<{ text: string }[]>(
      `SELECT string_agg(w::text || coalesce(encode(sealed_secret, 'escape'), ''), ' ') AS text FROM webhooks w`,
    );
    expect(dump?.text).toContain(hook.uid);
    expect(dump?.text).not.toContain('hunter2');
  });
});

describe('when the encryption key changes', () => {
  it('every signing secret is encrypted anew, as the webhook goes on; a damaged one is left and told of', async () => {
    const old = await startTestApp({ ROLES: 'api' });
    old.app.useLogger(RECORDER);
    const { body } = await old.call('GET', '/v1/factories');
    const uid = (body as { factories: { uid: string }[] }).factories[0]!.uid;
    const make = async (secret: string): Promise<string> => {
      const signature = { auth_mode: 'signature', signature_scheme: 'github', secret };
      const answer = await old.call('POST', `/v1/factories/${uid}/webhooks`, { name: secret, ...signature });
      expect(answer.status).toBe(201);
      return (answer.body as Webhook).uid;
    };
    const [kept, damaged] = [await make('kept'), await make('damaged')];
    await old.dataSource.query(`UPDATE webhooks SET sealed_secret = '\\x00' WHERE uid = $1`, [damaged]);
    const sealed = async (of: string): Promise<Row> => {
      const rows = await old.dataSource.query<Row[]>('SELECT * FROM webhooks WHERE uid = $1', [of]);
      return rows[0]!;
    };
    const before = await sealed(kept);

    const from = logged.length;
    const keys = {
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      ENCRYPTION_KEY_PREVIOUS: old.encryptionKey.toString('base64'),
    };
    await (await startTestApp({ ...keys, ROLES: 'api' }, old)).close();
    expect((await sealed(kept)).sealed_key_id).toBe(before.sealed_key_id);
    const replica = await startTestApp(keys, old);
    const after = await sealed(kept);
    const box = replica.app.get(SecretBox);
    expect(after.sealed_key_id).toBe(box.keyId);
    expect(after.version).toBe(before.version);
    const context = webhookSecretContext(kept);
    expect(box.open(context, { ciphertext: after.sealed_secret!, keyId: after.sealed_key_id! })).toBe('kept');
    expect((await sealed(damaged)).sealed_key_id).toBe(before.sealed_key_id);

    // What a replica that still has the old key alone writes meanwhile is brought over later.
    const late = await make('late');
    replica.app.useLogger(RECORDER);
    await replica.app.get(Reencryption).tick();
    expect((await sealed(late)).sealed_key_id).toBe(box.keyId);
    expect(logged.slice(from).join('\n')).toContain('one of the signing secrets of webhooks is unreadable');
    await replica.close();
    await old.close();
  });
});
