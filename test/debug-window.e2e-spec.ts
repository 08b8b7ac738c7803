import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SweepExecutions } from '../src/execution/application/sweep-executions.js';
import { EventReader } from './support/event-reader.js';
import { RunsClient } from './support/runs.js';
import { dismissWorkers, type SimulatedRunner, SimulatedWorker } from './support/simulated-worker.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let runs: RunsClient;
let environmentId: string;
const workers: SimulatedWorker[] = [];

const MINUTES = 15;

beforeAll(async () => {
  server = await startTestApp();
  runs = new RunsClient(server);
  const { body } = await server.call('POST', '/v1/agent/environments', {
    name: 'Shop',
    failure_session_retention_minutes: MINUTES,
  });
  environmentId = (body as { uid: string }).uid;
});
afterEach(async () => {
  await dismissWorkers(server, workers);
});
afterAll(async () => {
  await server.close();
});

async function connectWorker(): Promise<SimulatedWorker> {
  const worker = await SimulatedWorker.connect(server);
  workers.push(worker);
  return worker;
}

/** The next execution, whose runner sets its environment up. */
async function setUp(worker: SimulatedWorker): Promise<SimulatedRunner> {
  const assignment = await worker.nextAssignment();
  worker.claim(assignment);
  await worker.untilHandled();
  return worker.runner(assignment);
}

const create = (request: object = {}) =>
  runs.create({ prompt: 'Build it', config: { environment_id: environmentId }, ...request });

const fail = (runner: SimulatedRunner, session_retained = true) =>
  runner.call('POST', 'harness-support/report-setup-failure', {
    message: 'npm ci exited with code 1',
    session_retained,
  });

const untilOf = (answer: { body: unknown }) =>
  (answer.body as { session_debug_until?: string }).session_debug_until;

const followUp = (runId: string, message = 'Why?') =>
  runs.call('POST', `runs/${runId}/followups`, { message });

const waiting = async (runner: SimulatedRunner) =>
  (
    (await runner.call('GET', 'harness-support/messages')).body as {
      messages: { message_id: string; message: string }[];
    }
  ).messages;

const deliver = (runner: SimulatedRunner, messages: { message_id: string }[]) =>
  runner.call('POST', 'harness-support/messages/delivered', {
    message_ids: messages.map(({ message_id: id }) => id),
  });

const sweep = () => server.app.get(SweepExecutions).sweep();

const FAILED = {
  state: 'FAILED',
  status_message: { message: 'npm ci exited with code 1', error_code: 'environment_setup_failed' },
};

/** As if the window had been over for a second. */
const endWindow = (runId: string) =>
  server.dataSource.query(
    `UPDATE run_executions SET session_retained_until = now() - interval '1 second'
      WHERE run_id = $1 AND session_retained_until IS NOT NULL`,
    [runId],
  );

describe('a set-up that failed', () => {
  it('leaves a session to debug in, where the environment and the runner keep it', async () => {
    const worker = await connectWorker();
    const runId = await create();
    const runner = await setUp(worker);
    const before = Date.now();
    const until = untilOf(await fail(runner))!;
    expect(Date.parse(until) - before).toBeGreaterThan((MINUTES - 1) * 60_000);
    expect(Date.parse(until) - before).toBeLessThan((MINUTES + 1) * 60_000);
    expect(await runs.read(runId)).toMatchObject({
      ...FAILED,
      status_message: { ...FAILED.status_message, session_debug_until: until, debug_agent_active: false },
      debug_agent_available: true,
      is_sandbox_running: true,
    });
    expect((await runs.list()).runs[0]).toMatchObject({ debug_agent_available: true });
    // Reported again: the same window.
    expect(untilOf(await fail(runner))).toBe(until);
    expect((await runner.heartbeat()).status).toBe(204);
  });

  it.each<[string, (worker: SimulatedWorker) => Promise<SimulatedRunner>, boolean]>([
    ['the runner does not keep it', async (worker) => (await create(), setUp(worker)), false],
    [
      'the environment does not ask for it',
      async (worker) => (await create({ config: {} }), setUp(worker)),
      true,
    ],
  ])('leaves none where %s', async (_, begin, retained) => {
    const worker = await connectWorker();
    const runner = await begin(worker);
    const runId = runner.assignment.task_id;
    expect((await fail(runner, retained)).body).toEqual({});
    await runner.shutDown();
    const run = await runs.read(runId);
    expect(run).toMatchObject({ ...FAILED, debug_agent_available: false, is_sandbox_running: false });
    expect(run.status_message).not.toHaveProperty('session_debug_until');
    await followUp(runId);
    expect((await runs.read(runId)).state).not.toBe('FAILED');
  });

  it('does not undo an outcome that came before', async () => {
    const worker = await connectWorker();
    const runId = await create();
    const runner = await setUp(worker);
    await runner.finish(true);
    expect((await fail(runner)).body).toEqual({});
    expect((await runs.read(runId)).state).toBe('SUCCEEDED');
  });
});

describe('a follow-up inside the debug window', () => {
  it('reaches the session that was kept, by an event, and changes nothing of the run', async () => {
    const worker = await connectWorker();
    const runId = await create();
    const runner = await setUp(worker);
    await fail(runner);
    const failed = await runs.read(runId);
    const reader = await EventReader.open(`${server.url}/v1/agent/events/stream?run_ids=${runId}`, {
      Authorization: `Bearer ${runner.assignment.env_vars.WARP_API_KEY ?? ''}`,
    });
    try {
      expect(await followUp(runId)).toMatchObject({ status: 200, body: {} });
      await reader.until(2);
    } finally {
      reader.leave();
    }
    expect(reader.events.map(({ event_type: type }) => type)).toEqual(['run_failed', 'new_message']);
    const messages = await waiting(runner);
    expect(messages).toEqual([{ message_id: reader.events[1]?.ref_id, message: 'Why?' }]);
    expect(await runs.read(runId)).toEqual(failed);
    expect((await deliver(runner, messages)).status).toBe(204);
    expect((await runs.read(runId)).status_message).toEqual({
      ...failed.status_message,
      debug_agent_active: true,
    });
    await followUp(runId, 'And now?');
    expect((await waiting(runner)).map(({ message }) => message)).toEqual(['And now?']);
    expect(await runs.call('POST', `runs/${runId}/followups`, { message: '' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'message' }] },
    });
    expect(worker.assignments).toHaveLength(1);
  });

  it('also reaches it when it was sent during the set-up', async () => {
    const runId = await create();
    await followUp(runId, 'Before the set-up');
    const runner = await setUp(await connectWorker());
    await followUp(runId, 'During the set-up');
    await fail(runner);
    expect((await runs.read(runId)).state).toBe('FAILED');
    expect((await waiting(runner)).map(({ message }) => message)).toEqual(['During the set-up']);
  });
});

describe('the end of the debug window', () => {
  it('ends the execution, and what nobody took goes to an ordinary continuation', async () => {
    const worker = await connectWorker();
    const runId = await create();
    const runner = await setUp(worker);
    await fail(runner);
    await followUp(runId, 'Taken');
    await deliver(runner, await waiting(runner));
    await followUp(runId, 'Left');
    await endWindow(runId);
    await sweep();
    const cancellation = await worker.nextCancellation();
    expect(cancellation).toEqual({ task_id: runId, execution_id: runner.assignment.execution_id });
    expect((await runner.heartbeat()).status).toBe(409);
    expect(await runs.read(runId)).toMatchObject({ ...FAILED, debug_agent_available: false });
    worker.complete(runner.assignment, 'CANCELLED');
    const second = await setUp(worker);
    expect((await second.call('POST', 'harness-support/resolve-prompt', {})).body).toEqual({
      prompt: 'Build it\n\nLeft',
    });
    expect((await runner.heartbeat()).status).toBe(401);
  });

  it('leaves the run as it is when everything was taken', async () => {
    const worker = await connectWorker();
    const runId = await create();
    const runner = await setUp(worker);
    await fail(runner);
    await followUp(runId);
    await deliver(runner, await waiting(runner));
    await runner.shutDown();
    expect(await runs.read(runId)).toMatchObject({
      ...FAILED,
      debug_agent_available: false,
      is_sandbox_running: false,
    });
    await followUp(runId, 'Again');
    expect(['QUEUED', 'PENDING']).toContain((await runs.read(runId)).state);
    const second = await setUp(worker);
    expect((await second.call('POST', 'harness-support/resolve-prompt', {})).body).toEqual({
      prompt: 'Build it\n\nAgain',
    });
  });

  it('comes early with the lease of the execution', async () => {
    const worker = await connectWorker();
    const runId = await create();
    const runner = await setUp(worker);
    await fail(runner);
    await server.dataSource.query(
      `UPDATE run_executions SET lease_expires_at = now() - interval '1 second' WHERE run_id = $1`,
      [runId],
    );
    expect(await runs.read(runId)).toMatchObject({ ...FAILED, debug_agent_available: false });
    await followUp(runId, 'Still there?');
    expect((await runs.read(runId)).state).toBe('QUEUED');
    await runner.shutDown();
    const second = await setUp(worker);
    expect((await second.call('POST', 'harness-support/resolve-prompt', {})).body).toEqual({
      prompt: 'Build it\n\nStill there?',
    });
  });

  it('and a follow-up at the same moment: the message goes to the session or to a continuation, never nowhere', async () => {
    const worker = await connectWorker();
    const COUNT = 20;
    const ways = new Set<string>();
    for (let n = 0; n < COUNT; n++) {
      const runId = await create();
      const runner = await setUp(worker);
      await fail(runner);
      await endWindow(runId);
      await server.dataSource.query(
        `UPDATE run_executions SET session_retained_until = clock_timestamp() + make_interval(secs => $2) WHERE run_id = $1`,
        [runId, n / 500],
      );
      const [sent] = await Promise.all([followUp(runId), sweep()]);
      expect(sent.status).toBe(200);
      const { state } = await runs.read(runId);
      ways.add(state);
      await eventually(async () => {
        await sweep();
        return (await runner.heartbeat()).status === 409 ? true : undefined;
      });
      await runner.shutDown();
      const second = await setUp(worker);
      expect((await second.call('POST', 'harness-support/resolve-prompt', {})).body).toEqual({
        prompt: 'Build it\n\nWhy?',
      });
      await second.finish(true);
      await second.shutDown();
    }
    expect(ways).toEqual(new Set(['FAILED', 'QUEUED']));
  }, 60_000);
});
