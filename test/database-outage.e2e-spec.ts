import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Signals } from '../src/kernel/persistence/signals.js';
import { type ProxiedApp, startProxiedApp } from './support/proxied-app.js';
import { eventually } from './support/test-app.js';

let proxied: ProxiedApp;

beforeAll(async () => {
  proxied = await startProxiedApp();
});
afterAll(() => proxied.close());

it('outlives a database that is away for a while: it tries to listen once a second, and hears again', async () => {
  const heard = jest.fn();
  proxied.app.app.get(Signals).on('run_queued', heard);
  const logged = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const attempts = (): number =>
    logged.mock.calls.filter(([, message]: unknown[]) => message === 'cannot listen for signals yet').length;
  proxied.proxy.interrupt();
  await delay(6_500);
  const made = attempts();
  proxied.proxy.resume();
  expect(made).toBeGreaterThanOrEqual(3);
  expect(made).toBeLessThanOrEqual(7);

  await eventually(async () => {
    proxied.direct.app.get(Signals).send('run_queued', null);
    await delay(100);
    return heard.mock.calls.length > 0 ? true : undefined;
  });
  jest.restoreAllMocks();
  expect((await proxied.app.call('POST', '/v1/agent/runs', { prompt: 'x' })).status).toBe(200);
}, 30_000);
