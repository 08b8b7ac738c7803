import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { SweepExecutions } from '../src/execution/application/sweep-executions.js';
import type { TaskAssignment } from '../src/execution/protocol/worker-messages.js';
import { insertTeam, insertUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import {
  dismissWorkers,
  type SimulatedRunner,
  SimulatedWorker,
  type WorkerOptions,
} from './support/simulated-worker.js';
import { ADMIN_KEY, eventually, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let runs: RunsClient;
const workers: SimulatedWorker[] = [];

/** One application for each configuration. */
const servers = new Map<string, Promise<TestApp>>();
afterAll(async () => {
  await Promise.all([...servers.values()].map(async (each) => (await each).close()));
});

/** Every test of a group starts without runs and without workers. */
function useServer(environment: Record<string, string> = {}): void {
  beforeAll(async () => {
    const key = JSON.stringify(environment);
    const starting = servers.get(key) ?? startTestApp(environment);
    servers.set(key, starting);
    server = await starting;
    runs = new RunsClient(server);
  });
  afterEach(async () => {
    await dismissWorkers(server, workers);
  });
}

async function connectWorker(options?: WorkerOptions): Promise<SimulatedWorker> {
  const worker = await SimulatedWorker.connect(server, options);
  workers.push(worker);
  return worker;
}

/** The next assignments, so many of them, each before the next. */
async function claimNext(worker: SimulatedWorker, count: number): Promise<void> {
  for (let claims = 0; claims < count; claims++) worker.claim(await worker.nextAssignment());
}

/** A run that a worker has claimed and whose agent is at work. */
async function startRun(
  options?: WorkerOptions,
): Promise<{ runId: string; worker: SimulatedWorker; assignment: TaskAssignment; runner: SimulatedRunner }> {
  const worker = await connectWorker(options);
  const runId = await runs.create();
  const assignment = await worker.nextAssignment();
  worker.claim(assignment);
  await runs.untilState(runId, 'CLAIMED');
  const runner = worker.runner(assignment);
  expect((await runner.begin()).status).toBe(200);
  expect((await runs.read(runId)).state).toBe('INPROGRESS');
  return { runId, worker, assignment, runner };
}

/** Over whichever connection it comes. */
const assignmentOf = (runId: string) =>
  eventually(
    async () => workers.flatMap((worker) => worker.assignments).find(({ task_id: id }) => id === runId),
    { what: 'the assignment' },
  );

const untilEnded = (runId: string) =>
  runs.until(runId, (run) => !run.is_sandbox_running, 'the end of the execution');

const executionsOf = (runId: string) =>
  server.dataSource.query<{ id: string; end_reason: string | null; stop_requested_at: Date | null }[]>(
    'SELECT id, end_reason, stop_requested_at FROM run_executions WHERE run_id = $1 ORDER BY id',
    [runId],
  );

describe('a run', () => {
  useServer();

  it('that goes well', async () => {
    const worker = await connectWorker();
    const runId = await runs.create({
      prompt: 'Do it',
      title: 'A title',
      config: { base_prompt: 'Be brief.' },
    });

    const assignment = await worker.nextAssignment();
    const pending = await runs.read(runId);
    expect(pending).toMatchObject({ state: 'PENDING', is_sandbox_running: false });
    expect(assignment).toEqual({
      task_id: runId,
      execution_id: expect.stringMatching(/^[1-9]\d*$/),
      task: {
        id: runId,
        title: 'A title',
        task_definition: { prompt: 'Do it' },
        created_at: pending.created_at,
        updated_at: pending.updated_at,
      },
      env_vars: {
        WARP_API_KEY: expect.stringMatching(/^wk-.{40,}$/),
        WARP_WORKLOAD_TOKEN: expect.any(String),
        OZ_RUN_ID: runId,
        WARP_RUN_ID: runId,
      },
    });

    worker.claim(assignment);
    expect(await runs.untilState(runId, 'CLAIMED')).toMatchObject({
      is_sandbox_running: true,
      started_at: null,
    });

    const runner = worker.runner(assignment);
    expect((await runner.call('GET', 'harness-support/execution')).body).toMatchObject({
      run_id: runId,
      execution_id: assignment.execution_id,
      harness: { type: 'oz', model_id: 'script' },
      attachments: [],
      heartbeat_seconds: 30,
      stall_minutes: 30,
    });
    expect((await runner.begin()).status).toBe(200);
    expect(await runs.read(runId)).toMatchObject({ state: 'INPROGRESS', started_at: expect.any(String) });
    expect((await runner.call('POST', 'harness-support/resolve-prompt', {})).body).toEqual({
      prompt: 'Do it',
      system_prompt: 'Be brief.',
    });
    const skill = { name: 'release', content: 'Tag it.' };
    expect(
      (await runner.call('POST', 'harness-support/resolve-prompt', { skill, attachments_dir: '/a' })).body,
    ).toEqual({ prompt: 'Do it', system_prompt: 'Tag it.' });
    const event = {
      event_uuid: randomUUID(),
      event_name: 'agent_started',
      timestamp: '2026-11-21T09:30:01.120+01:00',
      payload: { latency_ms: 1.5 },
    };
    const events = `agent/runs/${runId}/client-events`;
    expect((await runner.call('POST', events, event)).status).toBe(204);
    expect((await runner.call('POST', events, { ...event, event_name: 'again' })).status).toBe(204);

    expect((await runner.finish(true, 'It is done')).status).toBe(204);
    expect(await runs.read(runId)).toMatchObject({
      state: 'SUCCEEDED',
      status_message: { message: 'It is done' },
      is_sandbox_running: true,
      run_time: expect.stringMatching(/^PT/),
    });
    expect((await runner.shutDown()).status).toBe(204);
    expect(await runs.read(runId)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: false });
    worker.complete(assignment);
    await worker.untilHandled();

    const executionId = Number(assignment.execution_id);
    expect(await runs.timeline(runId)).toMatchObject([
      { event_type: 'oz_run_created', payload: { source: 'API' } },
      { event_type: 'run_assigned', execution_id: executionId, payload: { worker_id: worker.workerId } },
      { event_type: 'oz_run_claimed', execution_id: executionId },
      { event_type: 'run_in_progress', execution_id: executionId },
      {
        event_type: 'agent_started',
        event_uuid: event.event_uuid,
        occurred_at: '2026-11-21T08:30:01.120Z',
        payload: event.payload,
      },
      { event_type: 'oz_run_done', execution_id: executionId },
      { event_type: 'vm_shutdown', execution_id: executionId, payload: { reason: 'shutdown' } },
    ]);
    expect((await runner.heartbeat()).status).toBe(401);
    expect(worker.received).toHaveLength(1);
  });

  it('of which the worker alone reports the end has failed: a clean end is no proof of success', async () => {
    const { runId, worker, assignment, runner } = await startRun();
    worker.complete(assignment);
    expect(await untilEnded(runId)).toMatchObject({
      state: 'FAILED',
      status_message: { message: 'The agent ended without a result', error_code: 'agent_process_failed' },
    });
    expect((await runner.heartbeat()).status).toBe(401);
  });

  it('whose agent shuts down without a result has failed', async () => {
    const { runId, runner } = await startRun();
    expect((await runner.shutDown()).status).toBe(204);
    expect(await runs.read(runId)).toMatchObject({
      state: 'FAILED',
      is_sandbox_running: false,
      status_message: { message: 'The agent ended without a result', retryable: true },
    });
  });

  it.each([
    ['integration_not_configured', 'FAILED', 'integration_not_configured', false],
    ['timeout', 'ERROR', 'infrastructure_timeout', true],
    ['oom', 'ERROR', 'resource_unavailable', true],
  ])('whose agent shuts down for %s is %s', async (category, state, errorCode, retryable) => {
    const { runId, runner } = await startRun();
    await runner.shutDown({ category, message: 'Why it ended' });
    expect(await runs.read(runId)).toMatchObject({
      state,
      status_message: { message: 'Why it ended', error_code: errorCode, retryable },
    });
  });

  it.each([
    ['agent_invocation', 'FAILED', 'agent_process_failed'],
    ['container_oom', 'ERROR', 'resource_unavailable'],
    ['task_timeout', 'ERROR', 'infrastructure_timeout'],
    [undefined, 'ERROR', 'resource_unavailable'],
  ])('that the worker fails for %s is %s', async (reason, state, errorCode) => {
    const { runId, worker, assignment } = await startRun();
    worker.fail(assignment, {
      message: 'Failed to execute task: \0\ud800',
      failure_reason: reason,
      exit_code: 137,
    });
    expect(await untilEnded(runId)).toMatchObject({
      state,
      status_message: { message: 'Failed to execute task: \ufffd\ufffd', error_code: errorCode },
    });
  });

  it('that the worker fails with fields that are null is over all the same', async () => {
    const { runId, worker, assignment } = await startRun();
    const { task_id, execution_id } = assignment;
    const nothing = { message: null, failure_reason: null, exit_code: null, task_state: null };
    worker.sendText(JSON.stringify({ type: 'task_failed', data: { task_id, execution_id, ...nothing } }));
    expect(await untilEnded(runId)).toMatchObject({
      state: 'ERROR',
      status_message: { error_code: 'resource_unavailable' },
    });
  });

  it('keeps its first outcome', async () => {
    const { runId, worker, assignment, runner } = await startRun();
    await runner.finish(true, 'It is done');
    expect((await runner.finish(false, 'No, it is not')).status).toBe(204);
    worker.fail(assignment, { message: 'exit status 1', failure_reason: 'agent_invocation', exit_code: 1 });
    expect(await untilEnded(runId)).toMatchObject({
      state: 'SUCCEEDED',
      status_message: { message: 'It is done' },
    });
    worker.complete(assignment);
    await worker.untilHandled();
    expect((await runs.eventTypes(runId)).slice(-2)).toEqual(['oz_run_done', 'vm_shutdown']);
    expect((await runs.timeline(runId)).at(-1)).toMatchObject({
      payload: { reason: 'agent_invocation (exit code 1)' },
    });
  });

  it('takes any report of its agent that JSON can carry', async () => {
    const { runId, runner } = await startRun();
    const path = `agent/runs/${runId}/client-events`;
    const event = {
      event_name: 'setup_\0',
      timestamp: '2026-11-21T09:30:01Z',
      payload: { '\0': ['\0', '\udc00'] },
    };
    expect((await runner.call('POST', path, { ...event, event_uuid: randomUUID() })).status).toBe(204);
    expect((await runs.timeline(runId)).at(-1)).toMatchObject({
      event_type: 'setup_\ufffd',
      payload: { '\ufffd': ['\ufffd', '\ufffd'] },
    });
    await runner.finish(false, 'exited with code 1: \0\ud800');
    expect(await runs.read(runId)).toMatchObject({
      status_message: { message: 'exited with code 1: \ufffd\ufffd' },
    });
  });

  it.each([
    '2026-W47',
    '2026-11-21T09',
    '2026',
    '2026-11-21T09:30:01,5Z',
    '2026-02-30T09:30:01Z',
    '0000-01-01T00:00:00Z',
  ])('takes no event of the time %s', async (timestamp) => {
    const { runId, runner } = await startRun();
    const event = { event_uuid: randomUUID(), event_name: 'agent_started', timestamp };
    expect(await runner.call('POST', `agent/runs/${runId}/client-events`, event)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'timestamp' }] },
    });
  });

  it.each(['9999-12-31T23:59:59-23:59', '2026-11-21T09:30:01.123456789+20:00'])(
    'takes an event of the time %s',
    async (timestamp) => {
      const { runId, runner } = await startRun();
      const event = { event_uuid: randomUUID(), event_name: 'agent_started', timestamp };
      expect((await runner.call('POST', `agent/runs/${runId}/client-events`, event)).status).toBe(204);
      expect((await runs.timeline(runId)).at(-1)).toMatchObject({
        occurred_at: new Date(timestamp).toISOString(),
      });
    },
  );

  it('can be reported on before the claim of its worker arrives', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const assignment = await worker.nextAssignment();
    const runner = worker.runner(assignment);
    expect((await runner.begin()).status).toBe(200);
    expect(await runs.read(runId)).toMatchObject({ state: 'INPROGRESS', is_sandbox_running: true });

    worker.claim(assignment);
    await worker.untilHandled();
    expect((await runs.read(runId)).state).toBe('INPROGRESS');
    await runner.finish(true);
    await runner.shutDown();
    expect(await runs.eventTypes(runId)).toEqual([
      'oz_run_created',
      'run_assigned',
      'run_in_progress',
      'oz_run_done',
      'vm_shutdown',
    ]);
    expect(worker.cancellations).toEqual([]);
  });

  it('does not mind a claim that comes twice', async () => {
    const { runId, worker, assignment } = await startRun();
    worker.claim(assignment);
    const second = await runs.create();
    const other = await worker.nextAssignment();
    worker.claim(other);
    worker.claim(other);
    await runs.untilState(second, 'CLAIMED');
    await worker.untilHandled();
    expect(worker.cancellations).toEqual([]);
    expect((await runs.eventTypes(runId)).filter((type) => type === 'oz_run_claimed')).toHaveLength(1);
    expect((await runs.eventTypes(second)).filter((type) => type === 'oz_run_claimed')).toHaveLength(1);
  });
});

describe('an assignment', () => {
  useServer();

  it('that is rejected goes to another connection', async () => {
    const full = await connectWorker({ workerId: 'full' });
    const runId = await runs.create();
    const first = await full.nextAssignment();
    full.reject(first);
    await runs.untilState(runId, 'QUEUED');
    expect((await full.runner(first).heartbeat()).status).toBe(401);

    const free = await connectWorker({ workerId: 'free' });
    const second = await free.nextAssignment();
    expect(second.task_id).toBe(runId);
    expect(second.execution_id).not.toBe(first.execution_id);
    free.claim(second);
    await runs.untilState(runId, 'CLAIMED');
    expect((await runs.timeline(runId)).slice(1)).toMatchObject([
      { event_type: 'run_assigned', payload: { worker_id: 'full' } },
      { event_type: 'run_requeued', payload: { reason: 'worker at maximum concurrency' } },
      { event_type: 'run_assigned', payload: { worker_id: 'free' } },
      { event_type: 'oz_run_claimed' },
    ]);
    expect(full.assignments).toHaveLength(1);
  });

  it('comes to a full worker again once it has finished something', async () => {
    const worker = await connectWorker();
    await runs.create();
    const first = await worker.nextAssignment();
    worker.claim(first);
    const runId = await runs.create();
    worker.reject(await worker.nextAssignment());
    await runs.untilState(runId, 'QUEUED');
    worker.complete(first);
    expect((await worker.nextAssignment()).task_id).toBe(runId);
  });

  it('is never more than the worker has announced room for', async () => {
    const worker = await connectWorker({ slots: 2 });
    const ids = [await runs.create(), await runs.create(), await runs.create()];
    const [first, second] = [await worker.nextAssignment(), await worker.nextAssignment()];
    worker.claim(first);
    worker.claim(second);
    await worker.untilHandled();
    expect(worker.assignments).toHaveLength(2);
    worker.complete(second);
    const third = await worker.nextAssignment();
    expect([first, second, third].map(({ task_id: id }) => id).sort()).toEqual(ids.sort());
  });

  it('comes as soon as a claim has made room for it', async () => {
    const worker = await connectWorker();
    const ids = await Promise.all(Array.from({ length: 24 }, () => runs.create()));
    const start = performance.now();
    await claimNext(worker, ids.length);
    // The poll alone would bring eight every two seconds.
    expect(performance.now() - start).toBeLessThan(2000);
  });

  it('that is not claimed when the connection ends is queued again at once', async () => {
    const worker = await connectWorker({ workerId: 'gone' });
    const [unclaimed, claimed] = [await runs.create(), await runs.create()];
    const assignments = [await worker.nextAssignment(), await worker.nextAssignment()];
    const givenFor = (runId: string) => assignments.find(({ task_id: id }) => id === runId)!;
    worker.claim(givenFor(claimed));
    await runs.untilState(claimed, 'CLAIMED');
    await worker.vanish();

    await runs.untilState(unclaimed, 'QUEUED');
    expect((await runs.timeline(unclaimed)).at(-1)).toMatchObject({
      event_type: 'run_requeued',
      payload: { reason: 'worker_disconnected' },
    });
    expect((await worker.runner(givenFor(unclaimed)).heartbeat()).status).toBe(401);
    expect(await runs.read(claimed)).toMatchObject({ state: 'CLAIMED', is_sandbox_running: true });

    const next = await connectWorker();
    expect((await next.nextAssignment()).task_id).toBe(unclaimed);
  });

  it('that is not claimed when the connection ends stays if its agent has been heard of', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const runner = worker.runner(await worker.nextAssignment());
    await runner.begin();
    await worker.vanish();
    await connectWorker({ workerId: 'another' });
    expect(await runs.read(runId)).toMatchObject({ state: 'INPROGRESS', is_sandbox_running: true });
    expect((await runner.heartbeat()).status).toBe(204);
  });

  it('never goes to a connection that ended while it was greeted', async () => {
    const lock = server.dataSource.createQueryRunner();
    await lock.startTransaction();
    await lock.query('LOCK TABLE worker_connections IN SHARE ROW EXCLUSIVE MODE');
    const socket = new WebSocket(
      `${server.url.replace('http', 'ws')}/v1/selfhosted/worker/ws?worker_id=hasty`,
      {
        headers: { Authorization: `Bearer ${ADMIN_KEY}` },
      },
    );
    await once(socket, 'open');
    socket.terminate();
    // By the time of these answers the server has heard of the end.
    for (let answers = 0; answers < 3; answers++) await server.call('GET', '/healthz');
    await lock.commitTransaction();
    await lock.release();

    const worker = await connectWorker();
    const runId = await runs.create();
    await worker.nextAssignment();
    expect((await runs.timeline(runId)).slice(1)).toMatchObject([
      { event_type: 'run_assigned', payload: { worker_id: worker.workerId } },
    ]);
  });

  it('that is not claimed when the server stops is queued again', async () => {
    const replica = await startTestApp({}, server);
    const worker = await SimulatedWorker.connect(replica, { workerId: 'of-the-replica' });
    try {
      const runId = await runs.create();
      await worker.nextAssignment();
      await replica.close();
      expect(await worker.closed).toBe(1001);
      expect((await runs.read(runId)).state).toBe('QUEUED');
    } finally {
      await worker.vanish();
    }
  });
});

describe('an assignment that nobody claims', () => {
  useServer({ CLAIM_DEADLINE_SECONDS: '1' });

  it('is queued again after its deadline, and whoever claims it then is told to drop it', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const first = await worker.nextAssignment();
    const second = await worker.nextAssignment();
    expect(second.task_id).toBe(runId);
    worker.claim(second);
    await runs.untilState(runId, 'CLAIMED');
    worker.claim(first);
    expect(await worker.nextCancellation()).toEqual({ task_id: runId, execution_id: first.execution_id });

    expect((await worker.runner(first).heartbeat()).status).toBe(401);
    expect((await worker.runner(second).heartbeat()).status).toBe(204);
    worker.fail(first, { message: 'Task cancelled by user request.', task_state: 'CANCELLED' });
    await worker.untilHandled();
    expect((await runs.read(runId)).state).toBe('CLAIMED');
    expect(await runs.eventTypes(runId)).toEqual([
      'oz_run_created',
      'run_assigned',
      'run_requeued',
      'run_assigned',
      'oz_run_claimed',
    ]);
    expect((await runs.timeline(runId))[2]).toMatchObject({ payload: { reason: 'claim_deadline' } });
  });

  it('leaves its slot free again', async () => {
    const worker = await connectWorker({ slots: 1 });
    const runId = await runs.create();
    await worker.nextAssignment();
    const again = await worker.nextAssignment();
    expect(again.task_id).toBe(runId);
    worker.claim(again);
    await runs.untilState(runId, 'CLAIMED');
    await runs.create();
    await worker.untilHandled();
    expect(worker.assignments).toHaveLength(2);
  });
});

describe('a worker', () => {
  useServer();

  it('can report the end of a run on another connection', async () => {
    const { runId, worker, assignment, runner } = await startRun({ workerId: 'twice' });
    await runner.finish(true);
    await worker.vanish();
    const later = await connectWorker({ workerId: 'twice' });
    later.complete(assignment);
    expect(await untilEnded(runId)).toMatchObject({ state: 'SUCCEEDED' });
  });

  it('can claim and report the end on another connection, in one go', async () => {
    const first = await connectWorker({ workerId: 'twice' });
    const second = await connectWorker({ workerId: 'twice' });
    const runId = await runs.create();
    const assignment = await assignmentOf(runId);
    const other = first.assignments.length === 1 ? second : first;
    other.claim(assignment);
    other.complete(assignment);
    expect(await runs.untilState(runId, 'FAILED')).toMatchObject({ is_sandbox_running: false });
    expect(await runs.eventTypes(runId)).toContain('oz_run_claimed');
  });

  it('says nothing about the runs of another one', async () => {
    const { runId, worker, assignment } = await startRun({ workerId: 'one' });
    const other = await connectWorker({ workerId: 'two' });
    const { execution_id: _, ...unnamed } = assignment;
    for (const reference of [assignment, unnamed]) {
      other.claim(reference);
      other.reject(reference);
      other.fail(reference, { message: 'not mine' });
      other.complete(reference);
    }
    await other.untilHandled();
    expect(await runs.read(runId)).toMatchObject({ state: 'INPROGRESS', is_sandbox_running: true });
    expect(other.received).toEqual([]);
    worker.complete(assignment);
    await untilEnded(runId);
  });

  it('of the older revision names no execution', async () => {
    const worker = await connectWorker({ workerId: 'old', namesNoExecution: true });
    const runId = await runs.create();
    const first = await worker.nextAssignment();
    worker.reject(first);
    await runs.untilState(runId, 'QUEUED');
    await worker.vanish();

    const again = await connectWorker({ workerId: 'old', namesNoExecution: true });
    const second = await again.nextAssignment();
    again.claim(second);
    await runs.untilState(runId, 'CLAIMED');
    await again.runner(second).finish(true);
    again.complete(second);
    expect(await untilEnded(runId)).toMatchObject({ state: 'SUCCEEDED' });
    expect((await executionsOf(runId)).map((execution) => execution.end_reason)).toEqual([
      'worker at maximum concurrency',
      'task_completed',
    ]);
  });

  it('of the older revision means the execution that came over its connection', async () => {
    const full = await connectWorker({ workerId: 'old', namesNoExecution: true });
    const runId = await runs.create();
    const first = await full.nextAssignment();
    full.reject(first);
    await runs.untilState(runId, 'QUEUED');
    const other = await connectWorker({ workerId: 'old', namesNoExecution: true });
    const second = await other.nextAssignment();
    other.claim(second);
    await runs.untilState(runId, 'CLAIMED');

    full.claim(first);
    expect(await full.nextCancellation()).toEqual({ task_id: runId, execution_id: first.execution_id });
    full.complete(first, 'CANCELLED');
    await full.untilHandled();
    expect(await runs.read(runId)).toMatchObject({ state: 'CLAIMED', is_sandbox_running: true });
    expect(other.cancellations).toEqual([]);
  });

  it('may send what the server does not know', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const assignment = await worker.nextAssignment();
    const reference = { task_id: runId, execution_id: assignment.execution_id };
    const messages = [
      '',
      'garbage',
      '[]',
      'null',
      '7',
      '{}',
      '{"type":"heartbeat"}',
      '{"type":"heartbeat","data":{}}',
      '{"type":"task_failed"}',
      '{"type":"task_failed","data":null}',
      '{"type":"task_failed","data":{"task_id":7,"message":"x"}}',
      '{"type":"task_failed","data":{"task_id":"../../etc","message":"x"}}',
      '{"type":"__proto__","data":{}}',
      '['.repeat(100_000),
      JSON.stringify({ type: 'task_failed', data: { task_id: randomUUID(), message: 'unknown run' } }),
      JSON.stringify({ type: 'task_failed', data: { ...reference, execution_id: 7, message: 'a number' } }),
      JSON.stringify({ type: 'task_failed', data: { ...reference, execution_id: 'one', message: 'a word' } }),
      JSON.stringify({ type: 'task_failed', data: { ...reference, execution_id: '9'.repeat(40) } }),
      JSON.stringify({ type: 'task_failed', data: { ...reference, message: ['no text'] } }),
      JSON.stringify({ type: 'task_paused', data: reference }),
    ];
    for (const message of messages) worker.sendText(message);
    worker.sendText(Buffer.from([0xff, 0xfe, 0x00]));
    await worker.untilHandled();
    expect((await runs.read(runId)).state).toBe('PENDING');

    worker.sendText(
      Buffer.from(
        JSON.stringify({ type: 'task_claimed', data: { ...reference, worker_id: 'x', novelty: 1 }, id: 1 }),
      ),
    );
    await runs.untilState(runId, 'CLAIMED');
  });

  it('that sends more than 1 MiB at once loses that connection alone', async () => {
    const one = await connectWorker({ workerId: 'large' });
    const other = await connectWorker({ workerId: 'large' });
    one.sendText('x'.repeat(1024 * 1024));
    await one.untilHandled();
    one.sendText('x'.repeat(1024 * 1024 + 1));
    expect(await one.closed).toBe(1009);
    const runId = await runs.create();
    other.claim(await other.nextAssignment());
    await runs.untilState(runId, 'CLAIMED');
  });
});

describe('the upgrade', () => {
  useServer();

  /** @returns the refusal; an accepted upgrade is an error */
  const refusal = async (path: string, headers: Record<string, string> = {}) => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, {
      headers: { Authorization: `Bearer ${ADMIN_KEY}`, ...headers },
    });
    socket.on('error', () => undefined);
    socket.on('open', () => {
      socket.terminate();
    });
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    const body = JSON.parse(await text(response)) as object;
    expect(response.headers['content-type']).toBe('application/problem+json');
    return { status: response.statusCode, headers: response.headers, body };
  };
  const PATH = '/v1/selfhosted/worker/ws';

  it.each([
    ['no key', { Authorization: '' }],
    ['an unknown key', { Authorization: 'Bearer wk-unknown' }],
    ['another scheme', { Authorization: 'Basic YTpi' }],
  ])('with %s is a 401', async (_, headers) => {
    const { status, body, headers: answered } = await refusal(`${PATH}?worker_id=a`, headers);
    expect(status).toBe(401);
    expect(answered['www-authenticate']).toBe('Bearer');
    expect(body).toMatchObject({
      type: 'http://localhost:8080/errors/authentication_required',
      status: 401,
      error_code: 'authentication_required',
      instance: PATH,
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it('with the key of a run is a 403', async () => {
    const { assignment } = await startRun();
    const headers = { Authorization: `Bearer ${assignment.env_vars['WARP_API_KEY']!}` };
    expect(await refusal(`${PATH}?worker_id=a`, headers)).toMatchObject({
      status: 403,
      body: { error_code: 'not_authorized' },
    });
  });

  it('for a team that the user is not in is a 403, and so is one that names none of several', async () => {
    const [one, two] = [await insertTeam(server.dataSource), await insertTeam(server.dataSource)];
    const user = await insertUser(server.dataSource, { teams: [one, two] });
    const stranger = { ...user.headers, 'X-Team-Uid': randomUUID() };
    expect((await refusal(`${PATH}?worker_id=a`, stranger)).status).toBe(403);
    expect((await refusal(`${PATH}?worker_id=a`, user.headers)).status).toBe(403);
  });

  it.each([
    ['nothing', ''],
    ['an empty name', '?worker_id='],
    ['the name of the hosted pool', '?worker_id=warp'],
    ['a name that begins like it', '?worker_id=warpspeed'],
    ['a space', '?worker_id=a%20b'],
    ['a NUL', '?worker_id=%00'],
    ['257 characters', `?worker_id=${'a'.repeat(257)}`],
  ])('with %s for worker_id is a 400', async (_, query) => {
    expect(await refusal(PATH + query)).toMatchObject({
      status: 400,
      body: { error_code: 'invalid_request', instance: PATH, errors: [{ field: 'worker_id' }] },
    });
  });

  it.each([
    '/',
    '/v1/selfhosted/worker',
    '/v1/agent/runs',
    '/V1/selfhosted/worker/ws',
    '/%',
    '//',
    '//a:b:c/',
  ])('at %s is a 404', async (path) => {
    const { hostname, port } = new URL(server.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(
      `GET ${path}?worker_id=a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Authorization: Bearer ${ADMIN_KEY}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'a'.repeat(22)}==\r\n\r\n`,
    );
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({
      error_code: 'resource_not_found',
      instance: path,
    });
    // The server does not keep its half open for a client that does not close its own.
    await eventually(async () => {
      if (!socket.destroyed) socket.write('still here');
      return socket.destroyed ? true : undefined;
    });
  });

  it('is accepted under /api/v1 as well', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api${PATH}?worker_id=a&other=b`, {
      headers: { Authorization: `Bearer ${ADMIN_KEY}` },
    });
    await once(socket, 'open');
    socket.terminate();
  });
});

describe('the runs that a worker is given', () => {
  useServer();

  it('are for a team key those of that team with exactly its name for worker host', async () => {
    const { dataSource } = server;
    const [own, foreign] = [await insertTeam(dataSource), await insertTeam(dataSource)];
    const user = await insertUser(dataSource, { teams: [own] });
    const stranger = await insertUser(dataSource, { teams: [foreign] });
    const [ofOwn, ofForeign] = [
      new RunsClient(server, user.headers),
      new RunsClient(server, stranger.headers),
    ];
    const forHost = (workerHost: string) => ({ config: { worker_host: workerHost } });

    const notServed = [
      await ofForeign.create(forHost('Machine-1')),
      await ofOwn.create(forHost('machine-1')),
      await ofOwn.create(forHost('Machine-10')),
      await ofOwn.create(),
    ];
    const served = await ofOwn.create(forHost('Machine-1'));
    const worker = await connectWorker({ workerId: 'Machine-1', key: user.key });
    const assignment = await worker.nextAssignment();
    expect(assignment.task_id).toBe(served);
    worker.claim(assignment);
    // Those that it would wrongly be given are older: it would have had them by the time of a later one.
    const later = await ofOwn.create(forHost('Machine-1'));
    expect((await worker.nextAssignment()).task_id).toBe(later);
    expect(worker.assignments).toHaveLength(2);
    const states = await dataSource.query<{ state: string }[]>(
      'SELECT DISTINCT state FROM runs WHERE id = ANY ($1)',
      [notServed],
    );
    expect(states).toEqual([{ state: 'QUEUED' }]);
  });

  it('are for an operator key the hosted ones, of every team', async () => {
    const { dataSource } = server;
    const user = await insertUser(dataSource, { teams: [await insertTeam(dataSource)] });
    const ofUser = new RunsClient(server, user.headers);
    await runs.create({ config: { worker_host: 'simulated' } });
    await ofUser.create({ config: { worker_host: 'simulated' } });
    const hosted = [
      await ofUser.create(),
      await ofUser.create({ team: false }),
      await ofUser.create({ config: { worker_host: 'warp' } }),
      await runs.create({ config: { worker_host: '' } }),
    ];
    const worker = await connectWorker({ workerId: 'simulated' });
    const given: string[] = [];
    while (given.length < hosted.length) given.push((await worker.nextAssignment()).task_id);
    expect(given.sort()).toEqual(hosted.sort());
    hosted.push(await runs.create());
    await worker.nextAssignment();
    expect(worker.assignments).toHaveLength(hosted.length);
  });

  it('cannot be spoken for by another team whose worker has the same name', async () => {
    const { dataSource } = server;
    const [own, foreign] = [await insertTeam(dataSource), await insertTeam(dataSource)];
    const user = await insertUser(dataSource, { teams: [own] });
    const stranger = await insertUser(dataSource, { teams: [foreign] });
    const ofOwn = new RunsClient(server, user.headers);
    const runId = await ofOwn.create({ config: { worker_host: 'shared' } });
    const worker = await connectWorker({ workerId: 'shared', key: user.key });
    const impostors = [
      await connectWorker({ workerId: 'shared', key: stranger.key }),
      await connectWorker({ workerId: 'shared' }),
    ];
    const assignment = await worker.nextAssignment();
    worker.claim(assignment);
    await ofOwn.untilState(runId, 'CLAIMED');
    for (const impostor of impostors) {
      impostor.complete(assignment);
      impostor.fail({ task_id: runId }, { message: 'x' });
      await impostor.untilHandled();
    }
    expect((await ofOwn.read(runId)).state).toBe('CLAIMED');

    await worker.runner(assignment).begin();
    await dataSource.query(`UPDATE run_executions SET started_at = now() - interval '7 hours'`);
    await server.app.get(SweepExecutions).sweep();
    expect(await worker.nextCancellation()).toMatchObject({ task_id: runId });
    for (const impostor of impostors) {
      await impostor.untilHandled();
      expect(impostor.received).toEqual([]);
    }
  });
});

describe('a lease', () => {
  useServer({ LEASE_SECONDS: '1' });

  it('that nobody renews ends the run, and its key with it', async () => {
    // Two connections of one worker: the runs of one of them are kept alive, one of them by its runner.
    const [silent, alive] = [await connectWorker(), await connectWorker()];
    const claimRun = async (over: SimulatedWorker) => {
      const runId = await runs.create();
      const assignment = await assignmentOf(runId);
      over.claim(assignment);
      await runs.untilState(runId, 'CLAIMED');
      await server.dataSource.query(
        `UPDATE run_executions SET connection_id = c.id FROM worker_connections c
          WHERE run_id = $1 AND c.connected_at = (SELECT ${over === alive ? 'max' : 'min'}(connected_at) FROM worker_connections)`,
        [runId],
      );
      return { runId, assignment, runner: over.runner(assignment) };
    };
    const ofPings = await claimRun(alive);
    const ofHeartbeats = await claimRun(silent);
    const neglected = await claimRun(silent);

    await eventually(async () => {
      await alive.ping();
      expect((await ofHeartbeats.runner.heartbeat()).status).toBe(204);
      return (await runs.read(neglected.runId)).state === 'ERROR' ? true : undefined;
    });
    expect((await runs.read(ofPings.runId)).state).toBe('CLAIMED');
    expect((await runs.read(ofHeartbeats.runId)).state).toBe('CLAIMED');

    expect(await runs.read(neglected.runId)).toMatchObject({
      is_sandbox_running: false,
      status_message: { error_code: 'resource_unavailable', retryable: true },
    });
    expect(await executionsOf(neglected.runId)).toMatchObject([{ end_reason: 'lease_expired' }]);
    expect((await neglected.runner.heartbeat()).status).toBe(401);
    expect((await neglected.runner.finish(true)).status).toBe(401);
    silent.complete(neglected.assignment);
    await silent.untilHandled();
    expect((await runs.read(neglected.runId)).state).toBe('ERROR');
    expect((await runs.eventTypes(neglected.runId)).slice(-2)).toEqual(['oz_run_claimed', 'oz_run_errored']);
  });
});

describe('a cancel of a working run', () => {
  useServer();

  it('is at once for whoever reads it, while the worker stops', async () => {
    const { runId, worker, assignment, runner } = await startRun();
    expect((await runs.cancel(runId)).status).toBe(200);
    expect(await runs.read(runId)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: true });
    expect(await worker.nextCancellation()).toEqual({
      task_id: runId,
      execution_id: assignment.execution_id,
    });

    for (const call of [
      runner.heartbeat(),
      runner.begin(),
      runner.finish(true),
      runner.call('GET', 'harness-support/execution'),
      runner.call('POST', 'harness-support/resolve-prompt', {}),
      runner.call('POST', 'harness-support/external-conversation', { format: 'millwright_script' }),
      runner.call('POST', 'harness-support/transcript', { conversation_id: randomUUID() }),
      runner.call('POST', `agent/runs/${runId}/client-events`, {
        event_uuid: randomUUID(),
        event_name: 'agent_started',
        timestamp: new Date().toISOString(),
      }),
    ]) {
      expect(await call).toMatchObject({ status: 409, body: { error_code: 'conflict', retryable: false } });
    }
    expect(await runs.read(runId)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: true });

    worker.complete(assignment, 'CANCELLED');
    expect(await untilEnded(runId)).toMatchObject({ state: 'CANCELLED' });
    expect((await runner.heartbeat()).status).toBe(401);
    expect((await runs.eventTypes(runId)).slice(3)).toEqual([
      'run_in_progress',
      'cancel_requested',
      'oz_run_cancelled',
      'vm_shutdown',
    ]);
  });

  it('is told to the worker at once', async () => {
    const worker = await connectWorker();
    const ids = await Promise.all(Array.from({ length: 3 }, () => runs.create()));
    await claimNext(worker, ids.length);
    for (const runId of ids) await runs.untilState(runId, 'CLAIMED');
    const start = performance.now();
    for (const runId of ids) {
      await runs.cancel(runId);
      await eventually(async () => worker.cancellations.find(({ task_id: id }) => id === runId));
    }
    // The poll alone, which repeats what is not confirmed, would take two seconds for each but the first.
    expect(performance.now() - start).toBeLessThan(2000);
  });

  it('of a CLAIMED one is the same', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const assignment = await worker.nextAssignment();
    worker.claim(assignment);
    await runs.untilState(runId, 'CLAIMED');
    expect((await runs.cancel(runId)).status).toBe(200);
    await worker.nextCancellation();
    worker.fail(assignment, { message: 'Task cancelled by user request.', failure_reason: 'task_cancelled' });
    expect(await untilEnded(runId)).toMatchObject({
      state: 'CANCELLED',
      status_message: { message: 'Cancelled by request' },
    });
  });

  it('is confirmed by the runner that shuts down', async () => {
    const { runId, runner } = await startRun();
    await runs.cancel(runId);
    expect((await runner.shutDown()).status).toBe(204);
    expect(await runs.read(runId)).toMatchObject({ state: 'CANCELLED', is_sandbox_running: false });
  });

  it('reaches a worker that was away, on its next connection', async () => {
    const { runId, worker, assignment } = await startRun({ workerId: 'away' });
    await worker.vanish();
    await runs.cancel(runId);
    const back = await connectWorker({ workerId: 'away' });
    expect(await back.nextCancellation()).toEqual({ task_id: runId, execution_id: assignment.execution_id });
  });

  it('reaches a worker that is connected to another replica', async () => {
    const { runId, worker } = await startRun();
    const replica = await startTestApp({}, server);
    try {
      expect((await new RunsClient(replica).cancel(runId)).status).toBe(200);
      expect(await worker.nextCancellation()).toMatchObject({ task_id: runId });
    } finally {
      await replica.close();
    }
  });

  it('that nobody confirms is closed after 30 seconds', async () => {
    const { runId, worker, runner } = await startRun();
    await runs.cancel(runId);
    await worker.nextCancellation();
    const since = (seconds: number) =>
      server.dataSource.query(
        'UPDATE run_executions SET stop_requested_at = now() - make_interval(secs => $2) WHERE run_id = $1',
        [runId, seconds],
      );
    await since(28);
    await server.app.get(SweepExecutions).sweep();
    expect((await runs.read(runId)).is_sandbox_running).toBe(true);
    await since(31);
    await server.app.get(SweepExecutions).sweep();
    expect(await untilEnded(runId)).toMatchObject({ state: 'CANCELLED' });
    expect((await executionsOf(runId))[0]).toMatchObject({ end_reason: 'stop_not_confirmed' });
    expect((await runner.heartbeat()).status).toBe(401);
  });
});

describe('a run that takes too long', () => {
  useServer({ MAX_RUN_MINUTES: '10' });

  it('is an ERROR, and its worker is told to stop', async () => {
    const { runId, worker, assignment, runner } = await startRun();
    const started = (minutes: number) =>
      server.dataSource.query(
        'UPDATE run_executions SET started_at = now() - make_interval(mins => $2) WHERE run_id = $1',
        [runId, minutes],
      );
    await started(9);
    await server.app.get(SweepExecutions).sweep();
    expect((await runs.read(runId)).state).toBe('INPROGRESS');
    await started(11);
    await server.app.get(SweepExecutions).sweep();
    expect(await runs.untilState(runId, 'ERROR')).toMatchObject({
      is_sandbox_running: true,
      status_message: {
        error_code: 'infrastructure_timeout',
        message: expect.stringContaining('10 minutes'),
      },
    });
    expect(await worker.nextCancellation()).toEqual({
      task_id: runId,
      execution_id: assignment.execution_id,
    });
    expect((await runner.heartbeat()).status).toBe(409);
    worker.complete(assignment, 'CANCELLED');
    expect(await untilEnded(runId)).toMatchObject({ state: 'ERROR' });
  });
});

describe('a run that waits', () => {
  useServer();

  const reasonsOf = async (client: RunsClient, runId: string) =>
    (await client.timeline(runId))
      .filter((event) => event.event_type === 'run_waiting')
      .map((event) => event.payload?.['reason']);
  const sweepAgain = async () => {
    await server.app.get(SweepExecutions).sweep();
    await server.app.get(SweepExecutions).sweep();
  };
  /** Waiting is explained once it has lasted two seconds. */
  const sweepLater = async () => {
    await server.dataSource.query(
      `UPDATE runs SET available_at = available_at - interval '3 seconds' WHERE state = 'QUEUED'`,
    );
    await sweepAgain();
  };

  it('says that no worker is connected, once, until one takes it', async () => {
    const runId = await runs.create();
    await runs.untilEvent(runId, 'run_waiting');
    const waiting = await runs.read(runId);
    expect(waiting).toMatchObject({
      state: 'QUEUED',
      status_message: { message: 'Waiting for a worker: none of the hosted pool is connected' },
    });
    await sweepAgain();
    expect(await reasonsOf(runs, runId)).toEqual([waiting.status_message?.message]);
    expect((await runs.read(runId)).updated_at).toBe(waiting.updated_at);

    await (await connectWorker()).nextAssignment();
    const taken = await runs.read(runId);
    expect(taken.state).toBe('PENDING');
    expect(taken).not.toHaveProperty('status_message');
  });

  it('says that all workers are busy, once', async () => {
    const worker = await connectWorker({ slots: 1 });
    await runs.create();
    worker.claim(await worker.nextAssignment());
    const runId = await runs.create();
    const reason = 'Waiting for a free slot: every connected worker of the hosted pool is busy';
    await sweepLater();
    expect((await runs.read(runId)).status_message).toEqual({ message: reason });
    expect(await reasonsOf(runs, runId)).toEqual([reason]);
  });

  it('says what is true for its own team and host', async () => {
    const { dataSource } = server;
    const [one, two] = [
      await insertUser(dataSource, { teams: [await insertTeam(dataSource)] }),
      await insertUser(dataSource, { teams: [await insertTeam(dataSource)] }),
    ];
    const [ofOne, ofTwo] = [new RunsClient(server, one.headers), new RunsClient(server, two.headers)];
    const worker = await connectWorker({ workerId: 'machine', key: one.key, slots: 1 });
    await connectWorker({ workerId: 'machine' });
    const forMachine = { config: { worker_host: 'machine' } };
    await ofOne.create(forMachine);
    worker.claim(await worker.nextAssignment());
    const served = await ofOne.create(forMachine);
    const notServed = [{ client: ofTwo, runId: await ofTwo.create(forMachine) }];
    await sweepLater();
    expect(await reasonsOf(ofOne, served)).toEqual([
      'Waiting for a free slot: every connected worker named machine is busy',
    ]);
    for (const { client, runId } of notServed) {
      expect(await reasonsOf(client, runId)).toEqual([
        'Waiting for a worker: none named machine is connected',
      ]);
    }
  });

  it('waits a little longer each time that its assignment came to nothing', async () => {
    const runId = await runs.create();
    const delays: number[] = [];
    while (delays.length < 3) {
      await server.dataSource.query('UPDATE runs SET available_at = now()');
      const worker = await connectWorker();
      worker.reject(await worker.nextAssignment());
      await runs.untilState(runId, 'QUEUED');
      const [row] = await server.dataSource.query<{ delay: number }[]>(
        'SELECT round(extract(epoch FROM available_at - updated_at))::int AS delay FROM runs WHERE id = $1',
        [runId],
      );
      delays.push(row!.delay);
      await worker.vanish();
    }
    expect(delays).toEqual([0, 1, 2]);
  });
});
