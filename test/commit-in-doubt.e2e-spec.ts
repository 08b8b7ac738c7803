import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DatabaseProxy } from './support/database-proxy.js';
import { startTestApp, type TestApp } from './support/test-app.js';

let direct: TestApp;
let proxy: DatabaseProxy;
let app: TestApp;

beforeAll(async () => {
  direct = await startTestApp();
  proxy = await DatabaseProxy.to(direct.databaseUrl);
  app = await startTestApp({}, { ...direct, databaseUrl: proxy.url });
});
afterAll(async () => {
  await app.close();
  await proxy.close();
  await direct.close();
});

const titles = async (): Promise<string[]> => {
  const rows = await direct.dataSource.query<{ title: string }[]>('SELECT title FROM runs');
  return rows.map(({ title }) => title);
};

it('answers with the run whose commit took effect although its answer was lost', async () => {
  proxy.cutNextCommit('answer lost');
  const { status, body } = await app.call('POST', '/v1/agent/runs', { prompt: 'true', title: 'Committed' });
  expect(proxy.cuts).toBe(1);
  expect(status).toBe(200);
  expect(await titles()).toEqual(['Committed']);
  const { run_id: id } = body as { run_id: string };
  expect(await direct.call('GET', `/v1/agent/runs/${id}`)).toMatchObject({ status: 200 });
});

it('gives the key of a run that its creator executes, whose commit took effect although its answer was lost', async () => {
  proxy.cutNextCommit('answer lost');
  const { status, body } = await app.call(
    'POST',
    '/v1/agent/runs',
    { prompt: 'true' },
    { 'X-Api-Source': 'LOCAL' },
  );
  expect(proxy.cuts).toBe(2);
  expect({ status, body }).toMatchObject({ status: 200, body: { run_key: expect.any(String) } });
});

it('answers 503 to a create whose commit never arrived, and has created nothing', async () => {
  proxy.cutNextCommit('request lost');
  const { status, headers } = await app.call('POST', '/v1/agent/runs', { prompt: 'true', title: 'Lost' });
  expect(proxy.cuts).toBe(3);
  expect(status).toBe(503);
  expect(headers.get('retry-after')).not.toBeNull();
  expect(await titles()).not.toContain('Lost');
});

it('answers with the schedule whose commit took effect although its answer was lost', async () => {
  proxy.cutNextCommit('answer lost');
  const { status, body } = await app.call('POST', '/v1/agent/schedules', {
    name: 'Committed',
    cron_schedule: '@yearly',
    prompt: 'Go',
  });
  expect(proxy.cuts).toBe(4);
  expect(status).toBe(201);
  expect((await direct.call('GET', '/v1/agent/schedules')).body).toEqual({ schedules: [body] });
});
