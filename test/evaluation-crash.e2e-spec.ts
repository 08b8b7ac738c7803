import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import type { QueryRunner } from 'typeorm';
import { EvaluateDeliveries } from '../src/automations/application/evaluate-deliveries.js';
import { LaunchMatches } from '../src/automations/application/launch-matches.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { ObjectStorage } from '../src/kernel/storage/object-storage.js';
import { EvaluationLog, EvaluationQueue } from '../src/webhooks/index.js';
import {
  createAutomation,
  insertDeliveries,
  insertFactory,
  type TestFactory,
} from './support/automations.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';

/** Far more than evaluation takes: the test ends at the first crash that comes too late. */
const MAX_STATEMENTS = 200;

let server: TestApp;
let factory: TestFactory;
let admin: pg.Client;

beforeAll(async () => {
  // Nobody evaluates by himself: the test takes every step.
  server = await startTestApp({ ROLES: 'api', WORKER_SLOTS: '0' });
  factory = await insertFactory(server);
  await createAutomation(server, factory, { n: [1] });
  await createAutomation(server, factory, { n: [2] });
  await createAutomation(server, factory);
  admin = new pg.Client({ connectionString: server.databaseUrl, application_name: 'admin' });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await server.close();
});

/** One pass of an evaluator over all that waits. */
async function pass(): Promise<void> {
  const { app } = server;
  const claim = { after: undefined, except: [], webhooks: 8, perWebhook: 64, leaseSeconds: 60 };
  const transactor = app.get(Transactor);
  const claimed = await transactor.run((tx) => app.get(EvaluationQueue).claim(tx, claim));
  await app.get(EvaluateDeliveries).execute(factory.webhook.uid, claimed);
  const matches = await transactor.run((tx) => app.get(EvaluationLog).claimMatches(tx, claim));
  await app.get(LaunchMatches).execute(matches);
}

/** From the given statement on, none reaches the database, and its connections break, as when the process dies. @returns whether it came to that */
async function crashAt(statement: number, work: () => Promise<void>): Promise<boolean> {
  const { dataSource } = server;
  const create = dataSource.createQueryRunner.bind(dataSource);
  const process = { statements: 0, isDead: false };
  dataSource.createQueryRunner = (mode): QueryRunner => {
    const runner = create(mode);
    const query = runner.query.bind(runner) as (...parameters: unknown[]) => Promise<unknown>;
    runner.query = (async (...parameters: unknown[]) => {
      process.isDead ||= process.statements === statement;
      process.statements += 1;
      if (process.isDead) throw Object.assign(new Error('the process is dead'), { code: '57P01' });
      return query(...parameters);
    }) as QueryRunner['query'];
    return runner;
  };
  try {
    await work();
  } catch (error) {
    if (!process.isDead) throw error;
  } finally {
    dataSource.createQueryRunner = create;
  }
  if (process.isDead) {
    const connections = `FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'millwright'`;
    // Again and again: a round of background work may have opened another one in the meantime, and the pool would keep it.
    await eventually(async () =>
      (await admin.query(`SELECT pg_terminate_backend(pid) ${connections}`)).rows.length === 0
        ? true
        : undefined,
    );
    // The pool of the next process is new; this one has to notice.
    await eventually(() =>
      Promise.all(Array.from({ length: 10 }, () => dataSource.query('SELECT 1'))).then(
        () => true,
        () => undefined,
      ),
    );
  }
  return process.isDead;
}

/** As if the time of the leases had passed. */
async function endLeases(): Promise<void> {
  await admin.query(`UPDATE webhook_evaluation_queue SET available_at = now() - interval '1 second'`);
  await admin.query(
    `UPDATE delivery_evaluations SET available_at = now() - interval '1 second' WHERE outcome = 'pending'`,
  );
}

it('starts one run for each match, whatever statement it crashes at', async () => {
  let statement = 0;
  for (; statement < MAX_STATEMENTS; statement++) {
    const [delivery] = await insertDeliveries(server.dataSource, factory.webhook.uid, [{ n: 1 }]);
    const hasCrashed = await crashAt(statement, pass);
    if (hasCrashed) {
      await endLeases();
      await pass();
    }
    const { rows: runs } = await admin.query<{ run_id: string; object_key: string }>(
      `SELECT r.id AS run_id, a.object_key FROM runs r LEFT JOIN run_attachments a ON a.run_id = r.id
        WHERE r.origin_key LIKE $1 ORDER BY r.id`,
      [`delivery:${delivery!}:%`],
    );
    expect({ statement, runs: runs.length }).toEqual({ statement, runs: 2 });
    for (const { object_key } of runs)
      expect(await server.app.get(ObjectStorage).stat(object_key)).toBeDefined();
    const { rows: settled } = await admin.query<{ run_id: string }>(
      `SELECT run_id FROM delivery_evaluations WHERE delivery_id = $1 AND outcome = 'matched' ORDER BY run_id`,
      [delivery],
    );
    expect(settled).toEqual(runs.map(({ run_id }) => ({ run_id })));
    if (!hasCrashed) break;
  }
  // It did crash, many times, and the last pass was whole.
  expect(statement).toBeGreaterThan(20);
  expect(statement).toBeLessThan(MAX_STATEMENTS);
  const { rows } = await admin.query('SELECT FROM webhook_evaluation_queue');
  expect(rows).toEqual([]);
}, 120_000);

it('counts nothing that a process does after its lease has ended', async () => {
  const [delivery] = await insertDeliveries(server.dataSource, factory.webhook.uid, [{ n: 1 }]);
  const { app } = server;
  const claim = { after: undefined, except: [], webhooks: 8, perWebhook: 64, leaseSeconds: 60 };
  const take = () => app.get(Transactor).run((tx) => app.get(EvaluationQueue).claim(tx, claim));
  const takeMatches = () => app.get(Transactor).run((tx) => app.get(EvaluationLog).claimMatches(tx, claim));
  const early = await take();
  await endLeases();
  const late = await take();
  await app.get(EvaluateDeliveries).execute(factory.webhook.uid, early);
  expect(
    (await admin.query('SELECT FROM delivery_outcomes WHERE delivery_id = $1', [delivery])).rows,
  ).toEqual([]);
  await app.get(EvaluateDeliveries).execute(factory.webhook.uid, late);
  const earlyMatches = await takeMatches();
  expect(earlyMatches).toHaveLength(2);
  await endLeases();
  const lateMatches = await takeMatches();
  await Promise.all([
    app.get(LaunchMatches).execute(earlyMatches),
    app.get(LaunchMatches).execute(lateMatches),
  ]);
  const { rows } = await admin.query(`SELECT FROM runs WHERE origin_key LIKE $1`, [
    `delivery:${delivery!}:%`,
  ]);
  expect(rows).toHaveLength(2);
});

it('starts nothing for an automation that was disabled between match and run', async () => {
  const uid = await createAutomation(server, factory, { only: [true] });
  const [delivery] = await insertDeliveries(server.dataSource, factory.webhook.uid, [{ only: true }]);
  const { app } = server;
  const claim = { after: undefined, except: [], webhooks: 8, perWebhook: 64, leaseSeconds: 60 };
  const transactor = app.get(Transactor);
  const claimed = await transactor.run((tx) => app.get(EvaluationQueue).claim(tx, claim));
  await app.get(EvaluateDeliveries).execute(factory.webhook.uid, claimed);
  const matches = await transactor.run((tx) => app.get(EvaluationLog).claimMatches(tx, claim));
  await server.call('DELETE', `/v1/automations/${uid}`);
  await app.get(LaunchMatches).execute(matches);
  const { rows } = await admin.query(
    'SELECT outcome, reason FROM delivery_evaluations WHERE delivery_id = $1 AND automation_uid = $2',
    [delivery, uid],
  );
  expect(rows).toEqual([{ outcome: 'not_matched', reason: 'automation_deleted' }]);
});
