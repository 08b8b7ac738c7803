import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ProxiedApp, startProxiedApp } from './support/proxied-app.js';

let proxied: ProxiedApp;

beforeAll(async () => {
  proxied = await startProxiedApp();
});
afterAll(() => proxied.close());

const titles = async (): Promise<string[]> => {
  const rows = await proxied.direct.dataSource.query<{ title: string }[]>('SELECT title FROM runs');
  return rows.map(({ title }) => title);
};

it('answers with the run whose commit took effect although its answer was lost', async () => {
  proxied.proxy.cutNextCommit('answer lost');
  const { status, body } = await proxied.app.call('POST', '/v1/agent/runs', {
    prompt: 'true',
    title: 'Committed',
  });
  expect(proxied.proxy.cuts).toBe(1);
  expect(status).toBe(200);
  expect(await titles()).toEqual(['Committed']);
  const { run_id: id } = body as { run_id: string };
  expect(await proxied.direct.call('GET', `/v1/agent/runs/${id}`)).toMatchObject({ status: 200 });
});

it('gives the key of a run that its creator executes, whose commit took effect although its answer was lost', async () => {
  proxied.proxy.cutNextCommit('answer lost');
  const { status, body } = await proxied.app.call(
    'POST',
    '/v1/agent/runs',
    { prompt: 'true' },
    { 'X-Api-Source': 'LOCAL' },
  );
  expect(proxied.proxy.cuts).toBe(2);
  expect({ status, body }).toMatchObject({ status: 200, body: { run_key: expect.any(String) } });
});

it('answers 503 to a create whose commit never arrived, and has created nothing', async () => {
  proxied.proxy.cutNextCommit('request lost');
  const { status, headers } = await proxied.app.call('POST', '/v1/agent/runs', {
    prompt: 'true',
    title: 'Lost',
  });
  expect(proxied.proxy.cuts).toBe(3);
  expect(status).toBe(503);
  expect(headers.get('retry-after')).not.toBeNull();
  expect(await titles()).not.toContain('Lost');
});

it('answers with the schedule whose commit took effect although its answer was lost', async () => {
  proxied.proxy.cutNextCommit('answer lost');
  const { status, body } = await proxied.app.call('POST', '/v1/agent/schedules', {
    name: 'Committed',
    cron_schedule: '@yearly',
    prompt: 'Go',
  });
  expect(proxied.proxy.cuts).toBe(4);
  expect(status).toBe(201);
  expect((await proxied.direct.call('GET', '/v1/agent/schedules')).body).toEqual({ schedules: [body] });
});
