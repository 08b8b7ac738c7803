import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHmac, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { Signals } from '../src/kernel/persistence/signals.js';
import { type Answer, call, startTestApp, type TestApp } from './support/test-app.js';
import { githubSignature, insertWebhook, type NewWebhook, type TestWebhook } from './support/webhooks.js';

const LIMIT = 262_144;

let service: TestApp;
/** Shares the database with the first. */
let replica: TestApp;

beforeAll(async () => {
  // Nobody evaluates: what is queued stays to be looked at.
  const environment = { ROLES: 'api,ingress,dispatcher,sweeper' };
  service = await startTestApp(environment);
  replica = await startTestApp(environment, service);
});
afterAll(async () => {
  await replica.close();
  await service.close();
});

const webhook = (options: NewWebhook = {}): Promise<TestWebhook> =>
  insertWebhook({ dataSource: service.dataSource, box: service.app.get(SecretBox) }, options);

/** Without a credential, unless the headers bring one. */
const deliver = (
  { path }: { path: string },
  body = '{}',
  {
    headers = {},
    method = 'POST',
    to = service,
  }: { headers?: Record<string, string>; method?: string; to?: TestApp } = {},
): Promise<Answer> =>
  call(to.url + path, method, method === 'GET' ? undefined : body, { Authorization: '', ...headers });

const bearer = ({ secret }: TestWebhook) => ({ Authorization: `Bearer ${secret}` });

interface LogRow {
  id: string;
  status: string;
  duplicate_of: string | null;
  identity_kind: string | null;
  identity_value: string | null;
  size_bytes: number;
  headers: Record<string, string>;
  payload: Buffer | null;
}

const logOf = ({ uid }: TestWebhook): Promise<LogRow[]> =>
  service.dataSource.query<LogRow[]>('SELECT * FROM webhook_deliveries WHERE webhook_uid = $1 ORDER BY id', [
    uid,
  ]);
const statuses = async (target: TestWebhook): Promise<string[]> =>
  (await logOf(target)).map(({ status }) => status);
const queued = async ({ uid }: TestWebhook): Promise<string[]> =>
  (
    await service.dataSource.query<{ delivery_id: string }[]>(
      'SELECT delivery_id FROM webhook_evaluation_queue WHERE webhook_uid = $1 ORDER BY delivery_id',
      [uid],
    )
  ).map((row) => row.delivery_id);
const idOf = ({ body }: Answer): string => (body as { delivery_id: string }).delivery_id;

/** As management does it, but for the signal: the ingress must be right without one. */
const change = (target: TestWebhook, assignments: string): Promise<unknown> =>
  service.dataSource.query(`UPDATE webhooks SET ${assignments}, version = version + 1 WHERE uid = $1`, [
    target.uid,
  ]);

describe('a delivery', () => {
  it('is recorded byte for byte and queued for evaluation', async () => {
    const target = await webhook();
    const body = ' {"b":1e400,"a":1.0, "a":"\\u0000\\ud800","__proto__":{}}\n';
    const headers = {
      ...bearer(target),
      'Content-Type': 'text/plain',
      'User-Agent': 'sender/1',
      'X-Other': 'x',
    };
    const answer = await deliver(target, body, { headers });
    expect(answer).toMatchObject({ status: 202, body: { delivery_id: expect.any(String) } });
    expect(Object.keys(answer.body as object)).toEqual(['delivery_id']);
    const [row, ...others] = await logOf(target);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      id: idOf(answer),
      status: 'accepted',
      identity_kind: 'body_hash',
      size_bytes: body.length,
      headers: { 'content-type': 'text/plain', 'user-agent': 'sender/1' },
    });
    expect(row!.payload!.toString()).toBe(body);
    expect(await queued(target)).toEqual([idOf(answer)]);
  });

  it.each(['1', '"text"', 'null', '[]', 'true', '-0.1e-5'])('may be %s', async (body) => {
    const target = await webhook();
    expect((await deliver(target, body, { headers: bearer(target) })).status).toBe(202);
  });

  it('is announced to evaluators at once, unless it is one that they know', async () => {
    const target = await webhook();
    const announced = () =>
      new Promise((resolve) => {
        replica.app.get(Signals).on('delivery_queued', () => {
          resolve(true);
        });
      });
    await delay(200); // What was announced before has arrived.
    const first = announced();
    expect((await deliver(target, '"new"', { headers: bearer(target) })).status).toBe(202);
    expect(await Promise.race([first, delay(2_000, false)])).toBe(true);
    const second = announced();
    expect((await deliver(target, '"new"', { headers: bearer(target) })).status).toBe(202);
    expect(await Promise.race([second, delay(200, false)])).toBe(false);
  });

  it('is as large as the limit, and not a byte larger', async () => {
    const target = await webhook();
    const body = (size: number) => JSON.stringify('x'.repeat(size - 2));
    expect((await deliver(target, body(LIMIT), { headers: bearer(target) })).status).toBe(202);
    expect(await deliver(target, body(LIMIT + 1), { headers: bearer(target) })).toMatchObject({
      status: 413,
      body: { error_code: 'payload_too_large' },
    });
    expect((await logOf(target)).map(({ status, size_bytes }) => [status, size_bytes])).toEqual([
      ['accepted', LIMIT],
      ['rejected_too_large', LIMIT + 1],
    ]);
  });

  it('is counted as it is streamed when its length is not announced', async () => {
    const target = await webhook();
    const chunk = Buffer.alloc(65_536, ' ');
    const send = (chunks: number) =>
      raw([
        `POST ${target.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${target.secret}\r\nTransfer-Encoding: chunked\r\n\r\n`,
        ...Array.from({ length: chunks }, () =>
          Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]),
        ),
        '2\r\n{}\r\n0\r\n\r\n',
      ]);
    expect(await send(3)).toMatch(/^HTTP\/1\.1 202 /);
    expect(await send(4)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('is never inflated', async () => {
    const target = await webhook();
    const headers = { ...bearer(target), 'Content-Encoding': 'gzip' };
    expect((await deliver(target, '{"plain":true}', { headers })).status).toBe(202);
  });

  it.each([
    ['nothing', ''],
    ['half an object', '{"a":'],
    ['two values', '{} {}'],
    ['a byte order mark', '\u{FEFF}{}'],
    ['bad UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['NaN', 'NaN'],
    ['101 levels', '['.repeat(101) + ']'.repeat(101)],
    ['130,000 levels', '['.repeat(130_000) + ']'.repeat(130_000)],
  ])('that holds %s is 400', async (_what, body) => {
    const target = await webhook();
    const answer = await raw([
      `POST ${target.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${target.secret}\r\nContent-Length: ${String(Buffer.byteLength(body))}\r\n\r\n`,
      body,
    ]);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"error_code":"invalid_request"/);
    expect(await statuses(target)).toEqual(['rejected_invalid_json']);
    expect(await queued(target)).toEqual([]);
  });

  it('may be a hundred levels deep, and have brackets in its strings', async () => {
    const target = await webhook();
    for (const body of ['['.repeat(100) + ']'.repeat(100), JSON.stringify('\\"['.repeat(300))]) {
      expect((await deliver(target, body, { headers: bearer(target) })).status).toBe(202);
    }
  });
});

describe('the address', () => {
  it('takes POST alone', async () => {
    const target = await webhook();
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await deliver(target, '{}', { method, headers: bearer(target) });
      expect({ method, status: answer.status, allow: answer.headers.get('allow') }).toEqual({
        method,
        status: 405,
        allow: 'POST',
      });
    }
    expect(await statuses(target)).toEqual([]);
  });

  it('is 404 for what is unknown, malformed, disabled, deleted or has a segment too many', async () => {
    const disabled = await webhook({ enabled: false });
    const known = await webhook();
    const paths = [
      '/webhooks/w/',
      '/webhooks/w/nothing',
      '/webhooks/w/00000000-0000-7000-8000-000000000000',
      '/webhooks/w/%2e%2e',
      disabled.path,
      `${known.path}/${known.secret}`,
      `${known.path}/`,
    ];
    for (const path of paths) {
      const { status } = await deliver({ path }, '{}', { headers: bearer(known) });
      expect({ path, status }).toEqual({ path, status: 404 });
    }
    expect(await statuses(known)).toEqual([]);
  });

  it('is found in any case and with any query', async () => {
    const target = await webhook();
    const path = `/webhooks/w/${target.uid.toUpperCase()}?a=/b`;
    expect((await deliver({ path }, '{}', { headers: bearer(target) })).status).toBe(202);
  });

  it('is not served by a process without the role', async () => {
    const api = await startTestApp({ ROLES: 'api' }, service);
    const target = await webhook();
    expect((await deliver(target, '{}', { headers: bearer(target), to: api })).status).toBe(404);
    await api.close();
  });
});

describe('authentication', () => {
  it('by bearer token takes exactly the secret, once', async () => {
    const target = await webhook();
    const wrong = [
      '',
      'Bearer',
      `Bearer ${target.secret}x`,
      target.secret,
      `Basic ${target.secret}`,
      'Bearer  ',
    ];
    for (const Authorization of wrong) {
      expect((await deliver(target, '{}', { headers: { Authorization } })).status).toBe(401);
    }
    const line = `Authorization: Bearer ${target.secret}\r\n`;
    expect(
      await raw([
        `POST ${target.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${line}${line}Content-Length: 2\r\n\r\n{}`,
      ]),
    ).toMatch(/^HTTP\/1\.1 401 /);
    expect(await statuses(target)).toEqual(Array(wrong.length + 1).fill('rejected_auth'));
    expect(
      (await deliver(target, '{}', { headers: { Authorization: `bearer ${target.secret}` } })).status,
    ).toBe(202);
  });

  it('by URL token takes the token in its segment, and never repeats it', async () => {
    const target = await webhook({ mode: 'url_token' });
    const bare = { path: `/webhooks/w/${target.uid}` };
    expect((await deliver(target)).status).toBe(202);
    for (const path of [
      bare.path,
      `${bare.path}/`,
      `${target.path}x`,
      `${target.path}/x`,
      `${bare.path}/%zz`,
    ]) {
      const answer = await deliver({ path }, '{}', { headers: bearer(target) });
      expect({ path, status: answer.status }).toEqual({ path, status: 401 });
      expect(JSON.stringify(answer.body)).not.toContain(target.secret);
    }
    expect((await deliver({ path: `${target.path}x` })).body).toMatchObject({
      error_code: 'authentication_required',
      instance: `${bare.path}/{token}`,
    });
  });

  it('by signature refuses an unsigned request before its body is read, whatever its size', async () => {
    const target = await webhook({ scheme: 'github' });
    expect((await deliver(target)).status).toBe(401);
    const head = `POST ${target.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n`;
    expect(await raw([head], { untilStatus: true })).toMatch(/^HTTP\/1\.1 401 /);
    const claimed = `POST ${target.path} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=${'0'.repeat(64)}\r\nContent-Length: 100000000\r\n\r\n`;
    expect(await raw([claimed], { untilStatus: true })).toMatch(/^HTTP\/1\.1 413 /);
    expect((await logOf(target)).map(({ status, size_bytes }) => [status, size_bytes])).toEqual([
      ['rejected_auth', 2],
      ['rejected_auth', 100_000_000],
      ['rejected_too_large', 100_000_000],
    ]);
  });

  it('fails closed when the secret is no key of the scheme', async () => {
    const target = await webhook({ scheme: 'standard_webhooks', secret: 'whsec_short' });
    expect((await deliver(target)).status).toBe(401);
  });

  it('says the same in the same form for every failure', async () => {
    const target = await webhook({ scheme: 'github' });
    const headers = { 'X-Hub-Signature-256': githubSignature('another', '{}') };
    const [unsigned, wrong] = [await deliver(target), await deliver(target, '{}', { headers })];
    const { trace_id: one, ...first } = unsigned.body as Record<string, unknown>;
    const { trace_id: two, ...second } = wrong.body as Record<string, unknown>;
    expect(first).toEqual(second);
    expect([one, two]).toEqual([unsigned.headers.get('x-trace-id'), wrong.headers.get('x-trace-id')]);
    expect(unsigned.headers.get('www-authenticate')).toBe('Bearer');
    expect(unsigned.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });
});

describe('identity', () => {
  it('is taken in the order of preference', async () => {
    const target = await webhook({ scheme: 'github', deliveryIdHeader: 'X-My-Id' });
    const all = { 'X-My-Id': 'mine', 'X-GitHub-Delivery': 'theirs', 'X-Service-Delivery-Id': 'ours' };
    const names = Object.keys(all) as (keyof typeof all)[];
    for (let from = 0; from <= names.length; from++) {
      const body = String(from);
      const present = Object.fromEntries(names.slice(from).map((name) => [name, all[name]]));
      // An empty id counts as absent.
      const empty = Object.fromEntries(names.slice(0, from).map((name) => [name, '']));
      const headers = { 'X-Hub-Signature-256': githubSignature(target.secret, body), ...empty, ...present };
      expect((await deliver(target, body, { headers })).status).toBe(202);
    }
    expect(
      (await logOf(target)).map(({ identity_kind, identity_value }) => [identity_kind, identity_value]),
    ).toEqual([
      ['header', 'mine'],
      ['provider', 'theirs'],
      ['service', 'ours'],
      ['body_hash', '4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce'],
    ]);
  });

  it('is the id in the signed body where the provider has no header for it', async () => {
    const target = await webhook({ scheme: 'stripe', secret: 'whsec_x' });
    const send = (body: string) => {
      const t = String(Math.floor(Date.now() / 1000));
      const v1 = createHmac('sha256', 'whsec_x').update(`${t}.${body}`).digest('hex');
      return deliver(target, body, { headers: { 'Stripe-Signature': `t=${t},v1=${v1}` } });
    };
    const first = await send('{"id":"evt_1","attempt":1}');
    const again = await send('{"id":"evt_1","attempt":2}');
    expect(idOf(again)).toBe(idOf(first));
    // Not text that PostgreSQL could store, so no id.
    expect((await send('{"id":"\\u0000"}')).status).toBe(202);
    expect(
      (await logOf(target)).map(({ status, identity_kind, duplicate_of }) => [
        status,
        identity_kind,
        duplicate_of,
      ]),
    ).toEqual([
      ['accepted', 'provider', null],
      ['duplicate', 'provider', idOf(first)],
      ['accepted', 'body_hash', null],
    ]);
    expect((await logOf(target))[1]!.payload).toBeNull();
  });

  it('of one kind or webhook is not that of another', async () => {
    const [one, other] = [await webhook(), await webhook()];
    const sends = [
      { to: one, body: '1', id: 'a' },
      { to: other, body: '1', id: 'a' },
      { to: one, body: '2', id: '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b' },
      { to: one, body: '1', id: '' },
    ];
    const ids = [];
    for (const { to, body, id } of sends) {
      ids.push(idOf(await deliver(to, body, { headers: { ...bearer(to), 'X-Service-Delivery-Id': id } })));
    }
    expect(new Set(ids).size).toBe(sends.length);
  });

  it('that is doubled or too long is refused', async () => {
    const target = await webhook();
    const id = (value: string) => ({ ...bearer(target), 'X-Service-Delivery-Id': value });
    expect((await deliver(target, '1', { headers: id('x'.repeat(256)) })).status).toBe(202);
    expect((await deliver(target, '2', { headers: id('x'.repeat(257)) })).status).toBe(401);
    const line = 'X-Service-Delivery-Id: a\r\n';
    const head = `POST ${target.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${target.secret}\r\n`;
    expect(await raw([`${head}${line}${line}Content-Length: 2\r\n\r\n{}`])).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('is accepted once, whoever gets it at the same time', async () => {
    const target = await webhook();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        deliver(target, '{"same":true}', {
          headers: bearer(target),
          to: index % 2 === 0 ? service : replica,
        }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const [id, ...others] = new Set(answers.map(idOf));
    expect(others).toEqual([]);
    expect((await statuses(target)).sort()).toEqual(['accepted', ...Array<string>(49).fill('duplicate')]);
    expect(await queued(target)).toEqual([id]);
  });

  it('is remembered although the delivery has left the log', async () => {
    const target = await webhook();
    const first = idOf(await deliver(target, '1', { headers: bearer(target) }));
    await service.dataSource.query('DELETE FROM webhook_deliveries WHERE webhook_uid = $1', [target.uid]);
    expect(idOf(await deliver(target, '1', { headers: bearer(target) }))).toBe(first);
  });
});

describe('what changes bites on the very next delivery, on every replica, without a signal', () => {
  it.each([0, 1])('replica %i', async (index) => {
    const to = [service, replica][index]!;
    const target = await webhook();
    const send = (secret = target.secret) =>
      deliver(target, randomBytes(8).toString('hex').replace(/^/, '"').replace(/$/, '"'), {
        headers: { Authorization: `Bearer ${secret}` },
        to,
      });
    expect((await send()).status).toBe(202);
    await change(target, `secret_hash = sha256('new')`);
    expect((await send()).status).toBe(401);
    expect((await send('new')).status).toBe(202);
    await change(target, `secret_hash = sha256('newer')`);
    // What it remembers refuses the new secret; what is true accepts it.
    expect((await send('newer')).status).toBe(202);
    await change(target, 'enabled = false');
    expect((await send('newer')).status).toBe(404);
    await change(target, 'enabled = true');
    expect((await send('newer')).status).toBe(202);
    await change(target, 'enabled = false, deleted_at = now()');
    expect((await send('newer')).status).toBe(404);
    expect((await send('wrong')).status).toBe(404);
    expect(await statuses(target)).toEqual(['accepted', 'rejected_auth', 'accepted', 'accepted', 'accepted']);
  });

  it('and a signal saves it the second look', async () => {
    const target = await webhook();
    await deliver(target, '1', { headers: bearer(target) });
    service.app.get(Signals).send('webhook_changed', { uid: target.uid });
    expect((await deliver(target, '2', { headers: bearer(target) })).status).toBe(202);
  });
});

describe('Slack', () => {
  it('has its challenge answered once its signature holds, and not logged', async () => {
    const target = await webhook({ scheme: 'slack', secret: 'slack-secret' });
    const send = (body: string, secret: string) => {
      const t = String(Math.floor(Date.now() / 1000));
      const v0 = createHmac('sha256', secret).update(`v0:${t}:${body}`).digest('hex');
      return deliver(target, body, {
        headers: { 'X-Slack-Request-Timestamp': t, 'X-Slack-Signature': `v0=${v0}` },
      });
    };
    const body = JSON.stringify({ type: 'url_verification', token: 'x', challenge: 'abc' });
    expect(await send(body, 'slack-secret')).toMatchObject({ status: 200, body: { challenge: 'abc' } });
    expect(await statuses(target)).toEqual([]);
    expect((await send(body, 'wrong')).status).toBe(401);
    expect((await send('{"type":"event_callback","event_id":"Ev1"}', 'slack-secret')).status).toBe(202);
    expect((await logOf(target)).map(({ status, identity_value }) => [status, identity_value])).toEqual([
      ['rejected_auth', null],
      ['accepted', 'Ev1'],
    ]);
  });
});

describe('the metrics', () => {
  it('tell what became of deliveries, and never a token', async () => {
    const target = await webhook({ mode: 'url_token' });
    await deliver(target);
    const { body } = await call(`${service.url}/metrics`, 'GET');
    expect(body).toMatch(/webhook_deliveries_received_total\{outcome="accepted"\} \d/);
    expect(body).toMatch(/http_route="\/webhooks\/w\/:uid\/:token",http_response_status_code="202"/);
    expect(body).not.toContain(target.secret);
  });
});

/** Sends the bytes as they are over a socket of their own and reads until it is closed, or until there is a first line. */
async function raw(parts: (string | Buffer)[], { untilStatus = false } = {}): Promise<string> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const closed = once(socket, 'close').catch(() => undefined);
  let answer = '';
  const complete = new Promise<void>((resolve) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
      const [head = '', body] = answer.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (untilStatus || (body !== undefined && Buffer.byteLength(body) >= length)) resolve();
    });
  });
  socket.on('error', () => undefined);
  for (const part of parts) socket.write(part);
  await Promise.race([complete, closed]);
  socket.destroy();
  return answer;
}
