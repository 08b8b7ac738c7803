import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Signals } from '../src/kernel/persistence/signals.js';
import { DatabaseProxy } from './support/database-proxy.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';

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

it('outlives a database that is away for a while: it tries to listen once a second, and hears again', async () => {
  const heard = jest.fn();
  app.app.get(Signals).on('run_queued', heard);
  const logged = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const attempts = (): number =>
    logged.mock.calls.filter(([, message]: unknown[]) => message === 'cannot listen for signals yet').length;
  proxy.interrupt();
  await delay(6_500);
  const made = attempts();
  proxy.resume();
  expect(made).toBeGreaterThanOrEqual(3);
  expect(made).toBeLessThanOrEqual(7);

  await eventually(async () => {
    direct.app.get(Signals).send('run_queued', null);
    await delay(100);
    return heard.mock.calls.length > 0 ? true : undefined;
  });
  jest.restoreAllMocks();
  expect((await app.call('POST', '/v1/agent/runs', { prompt: 'x' })).status).toBe(200);
}, 30_000);
