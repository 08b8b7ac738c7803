import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SweepExecutions } from '../src/execution/application/sweep-executions.js';
import { insertTeam, insertUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import {
  beginNext,
  dismissWorkers,
  type SimulatedRunner,
  SimulatedWorker,
} from './support/simulated-worker.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let runs: RunsClient;
const workers: SimulatedWorker[] = [];

beforeAll(async () => {
  server = await startTestApp();
  runs = new RunsClient(server);
});
afterEach(async () => {
  await dismissWorkers(server, workers);
});
afterAll(async () => {
  await server.close();
});

const followUp = (runId: string, body: object = { message: 'And now this' }) =>
  runs.call('POST', `runs/${runId}/followups`, body);

async function connectWorker(): Promise<SimulatedWorker> {
  const worker = await SimulatedWorker.connect(server);
  workers.push(worker);
  return worker;
}

const prompt = async (runner: SimulatedRunner) =>
  (await runner.call('POST', 'harness-support/resolve-prompt', {})).body as {
    prompt: string;
    resumption_prompt?: string;
  };

async function saveTranscript(runner: SimulatedRunner, text: string, format = 'millwright_script') {
  const { body } = await runner.call('POST', 'harness-support/external-conversation', { format });
  const request = body as { conversation_id: string };
  const target = await runner.call('POST', 'harness-support/transcript', request);
  const { url, headers } = target.body as { url: string; headers: Record<string, string> };
  expect((await fetch(url, { method: 'PUT', headers, body: text })).status).toBeLessThan(300);
  return request.conversation_id;
}

const stored = async (runner: SimulatedRunner) => {
  const { status, headers } = await runner.call('GET', 'harness-support/transcript');
  return status === 302 ? (await fetch(headers.get('location')!)).text() : undefined;
};

describe('a follow-up', () => {
  it('to a queued and to a pending run joins the prompt, in order, once', async () => {
    const runId = await runs.create({ prompt: 'First' });
    expect(await followUp(runId, { message: 'Second' })).toMatchObject({ status: 200, body: {} });
    const worker = await connectWorker();
    const assignment = await worker.nextAssignment();
    expect((await runs.read(runId)).state).toBe('PENDING');
    expect((await followUp(runId, { message: 'Third', mode: 'plan' })).status).toBe(200);
    worker.claim(assignment);
    await worker.untilHandled();
    const runner = worker.runner(assignment);
    expect(await prompt(runner)).toEqual({ prompt: 'First\n\nSecond\n\nThird' });
    expect((await followUp(runId, { message: 'Fourth' })).status).toBe(200);
    expect(await prompt(runner)).toEqual({ prompt: 'First\n\nSecond\n\nThird' });
    expect((await runs.read(runId)).prompt).toBe('First');
    const received = (await runs.timeline(runId)).filter((event) => event.event_type === 'followup_received');
    expect(received.map(({ payload }) => [payload?.sequence, payload?.continues])).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
  });

  it('to a working run starts an execution of its own when the present one ends', async () => {
    const worker = await connectWorker();
    const runId = await runs.create({ prompt: 'First' });
    const first = await beginNext(worker);
    expect(await prompt(first)).toEqual({ prompt: 'First' });
    expect((await followUp(runId, { message: 'Second' })).status).toBe(200);
    expect((await first.finish(true)).status).toBe(204);
    expect(await runs.read(runId)).toMatchObject({ state: 'QUEUED', is_sandbox_running: true });
    // The new one waits for the end of the old one.
    expect(worker.assignments).toHaveLength(1);
    expect((await first.shutDown()).status).toBe(204);
    const second = await beginNext(worker);
    expect(await prompt(second)).toEqual({ prompt: 'Second' });
    await second.finish(true, 'Both are done');
    await second.shutDown();
    expect(await runs.read(runId)).toMatchObject({
      state: 'SUCCEEDED',
      status_message: { message: 'Both are done' },
    });
    expect(await runs.eventTypes(runId)).toEqual([
      'oz_run_created',
      'run_assigned',
      'oz_run_claimed',
      'run_in_progress',
      'followup_received',
      'oz_run_done',
      'run_requeued',
      'vm_shutdown',
      'run_assigned',
      'oz_run_claimed',
      'run_in_progress',
      'oz_run_done',
      'vm_shutdown',
    ]);
  });

  it.each([
    ['SUCCEEDED', (runner: SimulatedRunner) => runner.finish(true)],
    ['FAILED', (runner: SimulatedRunner) => runner.finish(false)],
    ['ERROR', (runner: SimulatedRunner) => runner.shutDown({ category: 'oom', message: 'No memory' })],
    ['CANCELLED', (runner: SimulatedRunner) => runs.cancel(runner.assignment.task_id)],
  ])('to a %s run resumes its conversation', async (state, end) => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const first = await beginNext(worker);
    await prompt(first);
    const conversationId = await saveTranscript(first, '{"one":1}\n');
    await end(first);
    expect((await runs.read(runId)).state).toBe(state);
    expect((await followUp(runId)).status).toBe(200);
    const queued = await runs.read(runId);
    expect(queued.state).toBe('QUEUED');
    expect(queued.status_message).toBeUndefined();
    await first.shutDown();
    const second = await beginNext(worker);
    expect(second.assignment.task.agent_conversation_id).toBe(conversationId);
    expect(await prompt(second)).toEqual({ prompt: 'And now this' });
    expect(await stored(second)).toBe('{"one":1}\n');
    // It has a place of its own to write to, and dies before it has written: nothing is lost.
    const request = { conversation_id: conversationId };
    expect((await second.call('POST', 'harness-support/transcript', request)).status).toBe(200);
    expect(await stored(second)).toBe('{"one":1}\n');
  });

  it('does not undo a cancel; the next one brings it along', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const first = await beginNext(worker);
    await prompt(first);
    await followUp(runId, { message: 'Second' });
    await runs.cancel(runId);
    await first.shutDown();
    expect((await runs.read(runId)).state).toBe('CANCELLED');
    await followUp(runId, { message: 'Third' });
    expect(await prompt(await beginNext(worker))).toEqual({ prompt: 'Second\n\nThird' });
  });

  it('that waits for the end of the previous execution says so', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const first = await beginNext(worker);
    await first.finish(true);
    await followUp(runId);
    await server.dataSource.query(`UPDATE runs SET available_at = now() - interval '1 minute'`);
    await server.app.get(SweepExecutions).sweep();
    expect((await runs.read(runId)).status_message?.message).toBe(
      'Waiting for the previous execution to end',
    );
  });

  it('does not start for ever what fails before it gets its prompt', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const first = await beginNext(worker);
    await followUp(runId);
    await first.shutDown({ category: 'integration_not_configured', message: 'No' });
    const second = await beginNext(worker);
    await second.shutDown({ category: 'integration_not_configured', message: 'No' });
    expect((await runs.read(runId)).state).toBe('FAILED');
    await followUp(runId, { message: 'Try again' });
    expect(await prompt(await beginNext(worker))).toEqual({
      prompt: 'Do something\n\nAnd now this\n\nTry again',
    });
  });

  it('comes back when the assignment that it was given to is given up', async () => {
    const worker = await connectWorker();
    const runId = await runs.create({ prompt: 'First' });
    const assignment = await worker.nextAssignment();
    await followUp(runId, { message: 'Second' });
    expect(await prompt(worker.runner(assignment))).toEqual({ prompt: 'First\n\nSecond' });
    worker.reject(assignment);
    await worker.untilHandled();
    await connectWorker();
    const again = await eventually(async () =>
      workers.flatMap((each) => each.assignments.map((a) => ({ each, a }))).find(({ a }) => a !== assignment),
    );
    expect(await prompt(again.each.runner(again.a))).toEqual({ prompt: 'First\n\nSecond' });
  });

  it('may be empty only where it continues a saved conversation', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const refused = { status: 400, body: { errors: [{ field: 'message' }] } };
    expect(await followUp(runId, {})).toMatchObject(refused);
    const runner = await beginNext(worker);
    await prompt(runner);
    expect(await followUp(runId, { message: '' })).toMatchObject(refused);
    await runner.finish(true);
    expect(await followUp(runId, {})).toMatchObject(refused);
    await saveTranscript(runner, '{}\n');
    await runner.shutDown();
    expect((await followUp(runId, {})).status).toBe(200);
    expect(await prompt(await beginNext(worker))).toEqual({
      prompt: '',
      resumption_prompt: 'Go on where you stopped.',
    });
  });

  it('is refused where it is wrong, unknown or too much', async () => {
    const runId = await runs.create();
    expect(await followUp(runId, { message: 'x'.repeat(1_000_001) })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'message' }] },
    });
    expect((await followUp(runId, { message: 'x', mode: 'fast' })).status).toBe(400);
    expect((await followUp(runId, { message: 'x', colour: 'red' })).status).toBe(400);
    expect((await followUp(randomUUID())).status).toBe(404);
    expect((await followUp('nonsense')).status).toBe(404);
    const stranger = await insertUser(server.dataSource, { teams: [await insertTeam(server.dataSource)] });
    const theirs = new RunsClient(server, stranger.headers);
    expect((await theirs.call('POST', `runs/${runId}/followups`, { message: 'x' })).status).toBe(404);
    await server.dataSource.query(
      `INSERT INTO run_messages (id, run_id, sequence, message, author_uid)
       SELECT gen_random_uuid(), $1, n, 'x', $2 FROM generate_series(1, 99) AS n`,
      [runId, stranger.uid],
    );
    expect((await followUp(runId)).status).toBe(200);
    expect(await followUp(runId)).toMatchObject({ status: 403, body: { error_code: 'budget_exceeded' } });
  });
});

describe('a follow-up and an outcome at once', () => {
  it('the message is delivered, whichever comes first', async () => {
    const worker = await connectWorker();
    const COUNT = 40;
    await Promise.all(Array.from({ length: COUNT }, () => runs.create()));
    const first = [];
    for (let index = 0; index < COUNT; index++) first.push(await beginNext(worker));
    await Promise.all(first.map((runner) => prompt(runner)));
    const early = [];
    for (const [index, runner] of first.entries()) {
      const runId = runner.assignment.task_id;
      // The follow-up is sent with the outcome or up to 7 ms after it.
      const finishing = runner.finish(true);
      await delay(index % 8);
      expect((await followUp(runId)).status).toBe(200);
      expect((await finishing).status).toBe(204);
      await runner.shutDown();
      const timeline = await runs.timeline(runId);
      early.push(timeline.find((event) => event.event_type === 'followup_received')?.payload?.continues);
    }
    expect(new Set(early)).toEqual(new Set([true, false]));
    for (let index = 0; index < COUNT; index++) {
      const second = await beginNext(worker);
      expect(await prompt(second)).toEqual({ prompt: 'And now this' });
      await second.finish(true);
      await second.shutDown();
    }
    expect((await runs.list('limit=100')).runs.map(({ state }) => state)).toEqual(
      Array.from({ length: COUNT }, () => 'SUCCEEDED'),
    );
  }, 60_000);
});
