import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { insertDeliveries, insertFactory } from './support/automations.js';
import { startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;

beforeAll(async () => {
  // Nobody takes anything off a queue.
  server = await startTestApp({ ROLES: 'api,ingress', WORKER_SLOTS: '0' });
});
afterAll(() => server.close());

/** The value of a line such as `name{label="value"}`, in whole seconds. */
async function seconds(line: string): Promise<number> {
  const { body } = await server.call('GET', '/metrics');
  const found = (body as string).split('\n').find((candidate) => candidate.startsWith(`${line} `));
  return Math.floor(Number(found?.slice(line.length)));
}

const ago = (table: string, column: string, where: string, howMany: number): Promise<unknown> =>
  server.dataSource.query(
    `UPDATE ${table} SET ${column} = now() - make_interval(secs => $1) WHERE ${where}`,
    [howMany],
  );

describe('the lag of the queue of runs', () => {
  it('is how long the run waits that has waited longest for a worker of the pool', async () => {
    const hosted = 'millwright_queue_lag_seconds{pool="hosted"}';
    const selfHosted = 'millwright_queue_lag_seconds{pool="self_hosted"}';
    expect([await seconds(hosted), await seconds(selfHosted)]).toEqual([0, 0]);

    for (const config of [undefined, undefined, { worker_host: 'builders' }]) {
      const { status } = await server.call('POST', '/v1/agent/runs', { prompt: 'x', team: true, config });
      expect(status).toBe(200);
    }
    await ago('runs', 'available_at', 'worker_host IS NULL', 3600);
    await ago('runs', 'available_at', `worker_host = 'builders'`, 1800);
    await ago('runs', 'available_at', 'id = (SELECT id FROM runs WHERE worker_host IS NULL LIMIT 1)', -60);
    expect(await seconds(hosted)).toBeGreaterThanOrEqual(3600);
    expect(await seconds(hosted)).toBeLessThan(5400);
    expect(await seconds(selfHosted)).toBeGreaterThanOrEqual(1800);
    expect(await seconds(selfHosted)).toBeLessThan(3600);

    await server.dataSource.query(`UPDATE runs SET state = 'CANCELLED'`);
    expect([await seconds(hosted), await seconds(selfHosted)]).toEqual([0, 0]);
  });
});

describe('the lag of evaluation', () => {
  const match = 'millwright_evaluation_lag_seconds{step="match"}';
  const launch = 'millwright_evaluation_lag_seconds{step="launch"}';

  it('is how long the delivery waits that has waited longest, of any webhook, for each of the steps', async () => {
    expect([await seconds(match), await seconds(launch)]).toEqual([0, 0]);
    const { dataSource } = server;
    const [one, other] = [await insertFactory(server), await insertFactory(server)];
    const [old] = await insertDeliveries(dataSource, one.webhook.uid, [{}, {}]);
    await insertDeliveries(dataSource, other.webhook.uid, [{}]);
    await ago('webhook_deliveries', 'received_at', `id = '${old!}'`, 3600);
    expect(await seconds(match)).toBeGreaterThanOrEqual(3600);
    expect(await seconds(launch)).toBe(0);

    await dataSource.query(
      `INSERT INTO delivery_evaluations (delivery_id, automation_uid, webhook_uid, outcome) VALUES ($1, $2, $3, 'pending')`,
      [old, randomUUID(), one.webhook.uid],
    );
    await dataSource.query('DELETE FROM webhook_evaluation_queue WHERE delivery_id = $1', [old]);
    expect(await seconds(match)).toBeLessThan(1800);
    expect(await seconds(launch)).toBeGreaterThanOrEqual(3600);
  });
});
