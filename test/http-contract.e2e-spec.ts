import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;

beforeAll(async () => {
  server = await startTestApp();
});
afterAll(async () => {
  await server.close();
});

const problem = (status: number, errorCode: string, path: string) => ({
  type: `http://localhost:8080/errors/${errorCode}`,
  status,
  error_code: errorCode,
  instance: path,
  trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown,
});

describe('a bad request', () => {
  const runs = '/v1/agent/runs';

  it.each([
    [{}, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 7 }, 'prompt'],
    [{ prompt: 'x', prmpt: 'y' }, 'prmpt'],
    [{ prompt: 'x', title: '' }, 'title'],
    [{ prompt: 'x', team: 'yes' }, 'team'],
    [{ prompt: 'x', metadata: { 'a b': 'c' } }, 'metadata'],
    [{ prompt: 'x', metadata: [] }, 'metadata'],
    [{ prompt: 'x', config: 'script' }, 'config'],
    [{ prompt: 'x', config: { modle: 'script' } }, 'config.modle'],
    [{ prompt: 'x', config: { harness: { type: 'emacs' } } }, 'config.harness.type'],
    [{ prompt: 'x', config: { environment_id: 'short' } }, 'config.environment_id'],
    [{ prompt: 'x', config: { idle_timeout_minutes: 61 } }, 'config.idle_timeout_minutes'],
    [{ prompt: 'x', config: { skill_spec: 'a/b:c/SKILL.md', skills: ['a'] } }, 'config.skill_spec'],
    [{ prompt: 'x', config: { mcp_servers: { gh: {} } } }, 'config.mcp_servers'],
    [
      { prompt: 'x', config: { mcp_servers: { gh: { command: 'a', url: 'http://b' } } } },
      'config.mcp_servers',
    ],
    [{ prompt: 'x', config: { mcp_servers: { gh: { command: 'a', extra: 1 } } } }, 'config.mcp_servers'],
    [
      { prompt: 'x', config: { memory_stores: [{ uid: 'a', access: 'rw', instructions: '' }] } },
      'config.memory_stores.0.access',
    ],
    ['[]', 'body'],
    ['{"prompt":', 'body'],
    ['"prompt"', 'body'],
    ['', 'prompt'],
    ['{"__proto__":{"prompt":"x"}}', 'prompt'],
  ])('%j is a 400 that names %s', async (body, field) => {
    const answer = await server.call('POST', runs, body);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(answer.body).toMatchObject(problem(400, 'invalid_request', runs));
    const { errors } = answer.body as { errors: { field: string; message: string }[] };
    expect(errors.map((error) => error.field)).toContain(field);
    expect(errors.every((error) => error.message !== '')).toBe(true);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=501', 'limit'],
    ['limit=ten', 'limit'],
    ['cursor=garbage', 'cursor'],
    ['cursor=a.b', 'cursor'],
  ])('a list with %s is a 400 that names %s', async (query, field) => {
    const answer = await server.call('GET', `${runs}?${query}`);
    expect(answer.body).toMatchObject({ ...problem(400, 'invalid_request', runs), errors: [{ field }] });
  });

  it('leaves unknown query parameters alone', async () => {
    expect((await server.call('GET', `${runs}?colour=red`)).status).toBe(200);
  });

  it('whose body is over the limit is a 413, on each route by its own', async () => {
    const cancel = '/v1/agent/runs/019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11/cancel';
    const over = await server.call('POST', cancel, JSON.stringify({ a: 'x'.repeat(1024 * 1024) }));
    expect(over.body).toMatchObject(problem(413, 'payload_too_large', cancel));
    const large = await server.call('POST', runs, { prompt: 'x'.repeat(2 * 1024 * 1024) });
    expect(large.body).toMatchObject({ errors: [{ field: 'prompt' }] });
  });

  it.each(['disk_full', 'out_of_memory', 'io_error'])(
    'is a 503 where the database fails with %s',
    async (condition) => {
      await server.dataSource.query(
        `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE ${condition}; END $$`,
      );
      await server.dataSource.query('CREATE TRIGGER fail BEFORE INSERT ON runs EXECUTE FUNCTION fail()');
      try {
        const answer = await server.call('POST', runs, { prompt: 'x' });
        expect(answer.body).toMatchObject(problem(503, 'resource_unavailable', runs));
      } finally {
        await server.dataSource.query('DROP FUNCTION fail CASCADE');
      }
      expect((await server.call('POST', runs, { prompt: 'x' })).status).toBe(200);
    },
  );

  it('with the wrong method is a 405 that allows the right ones', async () => {
    const answer = await server.call('DELETE', runs);
    expect(answer.body).toMatchObject(problem(405, 'method_not_allowed', runs));
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST');
  });

  it('to an unknown route is a 404', async () => {
    expect((await server.call('GET', '/v1/agent/rnus')).body).toMatchObject(
      problem(404, 'resource_not_found', '/v1/agent/rnus'),
    );
  });

  it.each([
    '/v1/agent/runs/nonsense',
    '/v1/agent/runs/019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11',
    '/v1/agent/runs/%00',
    '/v1/agent/runs/%zz',
  ])('for %s is a 404', async (path) => {
    const answer = await server.call('GET', path);
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ error_code: 'resource_not_found' });
  });

  it.each([
    [{ Authorization: '' }, 401],
    [{ Authorization: 'Basic YTpi' }, 401],
    [{ Authorization: 'Bearer wk-unknown' }, 401],
    [{ 'X-Team-Uid': 'red' }, 400],
    [{ 'X-Team-Uid': '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' }, 403],
  ])('with %j is a %d', async (headers, status) => {
    const answer = await server.call('GET', runs, undefined, headers);
    expect(answer.status).toBe(status);
    if (status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('that is cut off in its body harms nobody', async () => {
    const { port } = new URL(server.url);
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(`POST ${runs} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"pro`);
        socket.end();
      });
      socket.on('close', () => {
        resolve();
      });
      socket.resume();
    });
    expect((await server.call('GET', '/healthz')).status).toBe(200);
  });
});

describe('every answer', () => {
  it('carries a trace id, the one of traceparent if that is valid', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const given = await server.call('GET', '/v1/agent/nothing', undefined, {
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
    });
    expect(given.headers.get('x-trace-id')).toBe(traceId);
    expect(given.body).toMatchObject({ trace_id: traceId });
    const own = await server.call('GET', '/healthz', undefined, { traceparent: '00-zz-zz-01' });
    expect(own.headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/);
  });

  it('is the same under /api/v1', async () => {
    expect((await server.call('GET', '/api/v1/agent/runs')).body).toEqual(
      (await server.call('GET', '/v1/agent/runs')).body,
    );
  });
});

describe('the public routes', () => {
  it.each([
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/v1/openapi.json',
    '/docs',
    '/errors/conflict',
  ])('%s answers without a key', async (path) => {
    const answer = await server.call('GET', path, undefined, { Authorization: '' });
    expect(answer.status).toBe(200);
  });

  it('tell whether the service can work', async () => {
    expect((await server.call('GET', '/readyz')).body).toEqual({
      status: 'ready',
      checks: { database: 'ok' },
    });
  });

  it('measure requests by route', async () => {
    await server.call('GET', '/v1/agent/runs');
    const { body } = await server.call('GET', '/metrics');
    expect(body).toMatch(/http_server_request_duration_seconds_count\{[^}]*http_route="\/v1\/agent\/runs"/);
    expect(body).toContain('millwright_worker_connections');
  });

  it('explain every error code, and no other', async () => {
    const page = await server.call('GET', '/errors/rate_limited');
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.body).toContain('<code>Retry-After</code>');
    expect((await server.call('GET', '/errors/toString')).status).toBe(404);
  });

  it('offer a Swagger UI that loads its parts from here and remembers the key', async () => {
    const { body } = await server.call('GET', '/docs');
    const scripts = [...String(body).matchAll(/<script src="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(scripts.length).toBeGreaterThan(0);
    for (const script of scripts) {
      const { status } = await server.call('GET', new URL(script, `${server.url}/docs`).pathname);
      expect(status).toBe(200);
    }
    const { body: init } = await server.call('GET', '/docs/swagger-ui-init.js');
    expect(init).toContain('"persistAuthorization": true');
  });
});

it('an idle connection is kept for longer than a load balancer keeps it', async () => {
  const { headers } = await server.call('GET', '/healthz');
  expect(headers.get('keep-alive')).toBe('timeout=75');
});
