import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { once } from 'node:events';
import pg from 'pg';
import { SweepExecutions } from '../src/execution/application/sweep-executions.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { CreateRun, RunLifecycle } from '../src/runs/index.js';
import { firstTeam } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import { dismissWorkers, type SimulatedRunner, SimulatedWorker } from './support/simulated-worker.js';
import { type Answer, eventually, startTestApp, type TestApp } from './support/test-app.js';

/** Two replicas on one database. */
let one: TestApp;
let two: TestApp;
let runs: RunsClient;
const workers: SimulatedWorker[] = [];

beforeAll(async () => {
  one = await startTestApp();
  two = await startTestApp({}, one);
  runs = new RunsClient(one);
});
afterEach(async () => {
  await dismissWorkers(one, workers);
});
afterAll(async () => {
  await two.close();
  await one.close();
});

async function connectWorker(server: TestApp, workerId: string): Promise<SimulatedWorker> {
  const worker = await SimulatedWorker.connect(server, { workerId });
  workers.push(worker);
  return worker;
}

const createMany = (count: number) => Promise.all(Array.from({ length: count }, () => runs.create()));

/** Runs whose agents are at work, on one worker. */
async function startMany(count: number): Promise<{ runId: string; runner: SimulatedRunner }[]> {
  const worker = await connectWorker(one, 'worker');
  await createMany(count);
  const started = [];
  for (let index = 0; index < count; index++) {
    const assignment = await worker.nextAssignment();
    worker.claim(assignment);
    started.push({ runId: assignment.task_id, runner: worker.runner(assignment) });
  }
  await worker.untilHandled();
  const begun = await Promise.all(started.map(({ runner }) => runner.begin()));
  expect(tally(begun.map(({ status }) => status))).toEqual({ 200: count });
  return started;
}

/** How often each of the values occurs. */
const tally = (values: (string | number)[]) =>
  Object.fromEntries(
    [...new Set(values)].map((value) => [value, values.filter((other) => other === value).length]),
  );

describe('two cancels at once', () => {
  it.each([
    ['queued', () => createMany(30)],
    ['working', async () => (await startMany(30)).map(({ runId }) => runId)],
  ])('of a %s run: one has cancelled it, the other came too late', async (_, prepare) => {
    const ids = await prepare();
    const overThere = new RunsClient(two);
    const answers = await Promise.all(
      ids.map((runId) => Promise.all([runs.cancel(runId), overThere.cancel(runId)])),
    );
    for (const pair of answers) expect(pair.map(({ status }) => status).sort()).toEqual([200, 400]);
    for (const runId of ids) {
      expect((await runs.eventTypes(runId)).slice(-2)).toEqual(['cancel_requested', 'oz_run_cancelled']);
    }
  });
});

describe('a cancel and an outcome at once', () => {
  const RUNS = 60;

  /** Both answers must agree with what the run has become. */
  const winnerOf = async (runId: string, cancel: Answer, finish: Answer): Promise<'cancel' | 'outcome'> => {
    const run = await runs.read(runId);
    const types = (await runs.eventTypes(runId)).filter((type) => type !== 'run_waiting').slice(3);
    if (run.state === 'CANCELLED') {
      expect(cancel.status).toBe(200);
      expect(finish).toMatchObject({ status: 409, body: { error_code: 'conflict' } });
      expect(types).toEqual(['run_in_progress', 'cancel_requested', 'oz_run_cancelled']);
      return 'cancel';
    }
    expect(run).toMatchObject({ state: 'SUCCEEDED', status_message: { message: 'A summary' } });
    expect(cancel).toMatchObject({ status: 400, body: { error_code: 'invalid_request' } });
    expect(finish.status).toBe(204);
    expect(types).toEqual(['run_in_progress', 'oz_run_done']);
    return 'outcome';
  };

  it(`${RUNS} times, one after the other: exactly one wins, and both answers are true`, async () => {
    const winners = [];
    for (const [index, { runId, runner }] of (await startMany(RUNS)).entries()) {
      // Now the one is sent first, now the other; with a head start from none to, in the last two rounds, the whole of it.
      const early = index % 2 === 0 ? runs.cancel(runId) : runner.finish(true);
      await (index >= RUNS - 2 ? early : Promise.race([early, delay(index)]));
      const late = index % 2 === 0 ? runner.finish(true) : runs.cancel(runId);
      const [first, second] = await Promise.all([early, late]);
      winners.push(await (index % 2 === 0 ? winnerOf(runId, first, second) : winnerOf(runId, second, first)));
    }
    expect(Object.keys(tally(winners)).sort()).toEqual(['cancel', 'outcome']);
  });

  it(`${RUNS} times, all at the same moment`, async () => {
    const started = await startMany(RUNS);
    const answers = await Promise.all(
      started.map(({ runId, runner }) => Promise.all([runner.finish(true), runs.cancel(runId)])),
    );
    for (const [index, { runId }] of started.entries()) {
      const [finish, cancel] = answers[index]!;
      await winnerOf(runId, cancel, finish);
    }
  });
});

describe('many agents at once', () => {
  it('are all answered: no transaction waits for a connection that others hold', async () => {
    const started = await startMany(40);
    const openConversation = (runner: SimulatedRunner) =>
      runner.call('POST', 'harness-support/external-conversation', { format: 'millwright_script' });
    const answers = await Promise.all(
      started.map(({ runner }) =>
        Promise.all([runner.heartbeat(), runner.begin(), openConversation(runner), openConversation(runner)]),
      ),
    );
    expect(tally(answers.flat().map(({ status }) => status))).toEqual({ 200: 120, 204: 40 });
    for (const [, , first, second] of answers) expect(first.body).toEqual(second.body);
  });
});

describe('a statement that waits for another transaction', () => {
  /** Until a statement waits for a lock that somebody else holds. */
  const untilBlocked = () =>
    eventually(
      async () => {
        const blocked = await one.dataSource.query<object[]>(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return blocked.length > 0 ? true : undefined;
      },
      { what: 'a wait for a lock' },
    );

  it('cancels the execution, too, that was assigned and claimed meanwhile', async () => {
    const runId = await runs.create();
    const lifecycle = one.app.get(RunLifecycle);
    const worker = {
      pool: { kind: 'hosted' as const },
      workerId: 'worker',
      connectionId: '00000000-0000-4000-8000-000000000000',
    };
    const { cancel } = await one.app.get(Transactor).run(async (tx) => {
      const [assigned] = await lifecycle.assign(tx, worker, 1);
      const cancelling = runs.cancel(runId);
      await untilBlocked();
      await lifecycle.claim(tx, assigned!);
      return { cancel: cancelling };
    });
    expect((await cancel).status).toBe(200);
    expect((await runs.read(runId)).state).toBe('CANCELLED');
    const executions: unknown = await one.dataSource.query(
      'SELECT stop_requested_at IS NOT NULL AS stopping FROM run_executions',
    );
    expect(executions).toEqual([{ stopping: true }]);
  });

  it('accepts the claim of an execution whose agent reports meanwhile', async () => {
    const worker = await connectWorker(one, 'worker');
    const runId = await runs.create();
    const assignment = await worker.nextAssignment();
    await one.app.get(Transactor).run(async (tx) => {
      await one.app.get(RunLifecycle).begin(tx, { runId, executionId: Number(assignment.execution_id) });
      worker.claim(assignment);
      await untilBlocked();
    });
    await worker.untilHandled();
    expect(worker.cancellations).toEqual([]);
    expect((await runs.read(runId)).state).toBe('INPROGRESS');
  });
});

describe('a claim at its deadline', () => {
  it('counts, or the worker is told that it does not', async () => {
    const mine = await Promise.all(
      Array.from({ length: 8 }, (_, index) => connectWorker(index % 2 === 0 ? one : two, `worker-${index}`)),
    );
    const ids = await createMany(64);
    const assigned = await eventually(async () => {
      const found = mine.flatMap((worker) =>
        worker.assignments.map((assignment) => ({ worker, assignment })),
      );
      return found.length === ids.length ? found : undefined;
    });
    const claim = (some: typeof assigned) => {
      for (const { worker, assignment } of some) worker.claim(assignment);
    };
    const handled = () => Promise.all(mine.map((worker) => worker.untilHandled()));
    // Some are surely in time and some are surely late.
    claim(assigned.slice(0, 8));
    await handled();
    await one.dataSource.query('UPDATE run_executions SET claim_deadline_at = now()');
    const sweeping = [one, two].map((server) => server.app.get(SweepExecutions).sweep());
    claim(assigned.slice(8, -8));
    await Promise.all(sweeping);
    claim(assigned.slice(-8));
    await handled();

    const outcomes = [];
    for (const { worker, assignment } of assigned) {
      const types = (await runs.timeline(assignment.task_id))
        .filter((event) => event.execution_id === Number(assignment.execution_id))
        .map((event) => event.event_type);
      const told = worker.cancellations.filter(
        ({ execution_id: id }) => id === assignment.execution_id,
      ).length;
      const { status } = await worker.runner(assignment).heartbeat();
      const claimed = types.includes('oz_run_claimed');
      expect({ types, told, status }).toEqual(
        claimed
          ? { types: ['run_assigned', 'oz_run_claimed'], told: 0, status: 204 }
          : { types: ['run_assigned', 'run_requeued'], told: 1, status: 401 },
      );
      outcomes.push(claimed ? 'claimed' : 'requeued');
    }
    expect(Object.keys(tally(outcomes)).sort()).toEqual(['claimed', 'requeued']);
  });
});

describe('two dispatchers', () => {
  it('give each of 200 runs to one of 4 workers, once', async () => {
    const ids = await createMany(200);
    const mine = await Promise.all([
      connectWorker(one, 'a'),
      connectWorker(one, 'b'),
      connectWorker(two, 'c'),
      connectWorker(two, 'd'),
    ]);
    const answered = new Set<unknown>();
    await eventually(
      async () => {
        for (const worker of mine) {
          for (const assignment of worker.assignments.filter((each) => !answered.has(each.execution_id))) {
            answered.add(assignment.execution_id);
            worker.claim(assignment);
            worker.complete(assignment);
          }
        }
        return answered.size >= ids.length ? true : undefined;
      },
      { what: 'the assignment of all runs' },
    );
    await Promise.all(mine.map((worker) => worker.untilHandled()));

    expect(mine.flatMap((worker) => worker.assignments.map(({ task_id: id }) => id)).sort()).toEqual(
      ids.sort(),
    );
    for (const worker of mine) expect(worker.assignments.length).toBeGreaterThan(0);
    const counts: unknown = await one.dataSource.query(
      `SELECT r.state, count(DISTINCT r.id)::int AS runs, count(*)::int AS executions, count(e.ended_at)::int AS ended
         FROM runs r JOIN run_executions e ON e.run_id = r.id GROUP BY r.state`,
    );
    expect(counts).toEqual([{ state: 'FAILED', runs: 200, executions: 200, ended: 200 }]);
  });
});

describe('a transaction that fails', () => {
  it('leaves no run, no event and no signal', async () => {
    const listener = new pg.Client({ connectionString: one.databaseUrl });
    await listener.connect();
    try {
      const signals: (string | undefined)[] = [];
      listener.on('notification', ({ payload }) => signals.push(payload));
      await listener.query('LISTEN millwright_signals');
      const createRun = one.app.get(CreateRun);
      const [admin] = await one.dataSource.query<{ uid: string }[]>('SELECT uid FROM users');
      const newRun = {
        prompt: 'Do something',
        owner: { teamUid: await firstTeam(one.dataSource), ownerUid: null },
        creatorUid: admin!.uid,
        executorUid: admin!.uid,
        source: 'API' as const,
        config: {},
      };

      const failing = one.app.get(Transactor).run(async (tx) => {
        const created = await createRun.execute(tx, newRun);
        if (created.outcome !== 'created') throw new Error('no run was created');
        expect(await tx.query('SELECT id FROM runs')).toEqual([{ id: created.runId }]);
        throw new Error('after the insert');
      });
      await expect(failing).rejects.toThrow('after the insert');
      const left: unknown = await one.dataSource.query(
        `SELECT (SELECT count(*)::int FROM runs) AS runs, (SELECT count(*)::int FROM run_definitions) AS definitions,
                (SELECT count(*)::int FROM run_timeline_events) AS events`,
      );
      expect(left).toEqual([{ runs: 0, definitions: 0, events: 0 }]);

      // A signal of the failed one would come before this one's.
      await one.app.get(Transactor).run((tx) => createRun.execute(tx, newRun));
      if (signals.length === 0) await once(listener, 'notification');
      await listener.query('SELECT 1');
      expect(signals).toEqual([JSON.stringify({ name: 'run_queued', payload: null })]);
      expect((await runs.list()).runs.map((run) => run.state)).toEqual(['QUEUED']);
    } finally {
      await listener.end();
    }
  });
});
