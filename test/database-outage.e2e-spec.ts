import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { createDataSource } from '../src/database/data-source.js';
import { migrate } from '../src/database/migrate.js';
import { Signals } from '../src/kernel/persistence/signals.js';
import { isDatabaseUnavailable } from '../src/kernel/persistence/sqlstate.js';
import { DatabaseProxy } from './support/database-proxy.js';
import { type ProxiedApp, startProxiedApp } from './support/proxied-app.js';
import { eventually } from './support/test-app.js';
import { createBlankDatabase } from './support/test-database.js';

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

it('gives a connection up that swallows what is sent, and goes on with another', async () => {
  const proxy = await DatabaseProxy.to(proxied.direct.databaseUrl);
  const dataSource = await createDataSource({
    url: proxy.url,
    poolSize: 1,
    statementTimeoutMs: 200,
  }).initialize();
  try {
    proxy.freeze();
    const error: unknown = await dataSource.query('SELECT 1').catch((thrown: unknown) => thrown);
    expect(isDatabaseUnavailable(error)).toBe(true);
    // At once, not when it has been idle for long enough.
    await eventually(() => Promise.resolve(proxy.connections === 0 ? true : undefined), { withinMs: 2_000 });
    proxy.resume();
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  } finally {
    await dataSource.destroy();
    await proxy.close();
  }
});

it('gives no statement of a migration up', async () => {
  const database = await createBlankDatabase();
  const dataSource = await createDataSource({ url: database.url }).initialize();
  try {
    await dataSource.query(`
      CREATE TABLE bounds (statement_timeout text);
      CREATE FUNCTION note_bound() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO public.bounds VALUES (current_setting('statement_timeout')); END $$;
      CREATE EVENT TRIGGER note_bound ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION note_bound()`);
    await migrate(database.url);
    expect(await dataSource.query('SELECT DISTINCT statement_timeout FROM bounds')).toEqual([
      { statement_timeout: '0' },
    ]);
    expect(await dataSource.query('SHOW statement_timeout')).toEqual([{ statement_timeout: '30s' }]);
  } finally {
    await dataSource.destroy();
    await database.drop();
  }
});
