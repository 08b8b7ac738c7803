import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuiltInWorker } from '../src/execution/worker/built-in-worker.js';
import { RunsClient } from './support/runs.js';
import { beginNext, dismissWorkers, SimulatedRunner, SimulatedWorker } from './support/simulated-worker.js';
import { ADMIN_KEY, type Answer, eventually, startTestApp, type TestApp } from './support/test-app.js';

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

async function connectWorker(): Promise<SimulatedWorker> {
  const worker = await SimulatedWorker.connect(server);
  workers.push(worker);
  return worker;
}

const prompt = async (runner: SimulatedRunner) =>
  ((await runner.call('POST', 'harness-support/resolve-prompt', {})).body as { prompt: string }).prompt;

const followUp = (runId: string, message: string) =>
  runs.call('POST', `runs/${runId}/followups`, { message });

interface Waiting {
  message_id: string;
  message: string;
  subject?: string;
  sender_run_id?: string;
}
const waiting = async (runner: SimulatedRunner): Promise<Waiting[]> => {
  const { status, body } = await runner.call('GET', 'harness-support/messages');
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body as { messages: Waiting[] }).messages;
};
const textsOf = (messages: Waiting[]) => messages.map(({ message }) => message);

const deliver = (runner: SimulatedRunner, messages: { message_id: string }[]): Promise<Answer> =>
  runner.call('POST', 'harness-support/messages/delivered', {
    message_ids: messages.map(({ message_id: id }) => id),
  });

describe('a follow-up to an agent at work', () => {
  it('is its next message, once and in order, and starts no execution', async () => {
    const worker = await connectWorker();
    const runId = await runs.create({ prompt: 'First' });
    const runner = await beginNext(worker);
    // Until the prompt was given everything belongs to it.
    await followUp(runId, 'Second');
    expect(await waiting(runner)).toEqual([]);
    expect(await prompt(runner)).toBe('First\n\nSecond');
    await followUp(runId, 'Third');
    await followUp(runId, 'Fourth');
    const messages = await waiting(runner);
    expect(textsOf(messages)).toEqual(['Third', 'Fourth']);
    expect(await waiting(runner)).toEqual(messages);
    expect((await deliver(runner, messages)).status).toBe(204);
    // The answer was lost: the runner says it again.
    expect((await deliver(runner, messages)).status).toBe(204);
    expect(await waiting(runner)).toEqual([]);
    expect(await prompt(runner)).toBe('First\n\nSecond');
    await runner.finish(true, 'All is done');
    await runner.shutDown();
    expect(await runs.read(runId)).toMatchObject({
      state: 'SUCCEEDED',
      status_message: { message: 'All is done' },
    });
    expect(worker.assignments).toHaveLength(1);
  });

  it('that was fetched by an execution which dies before it used it is the next one’s', async () => {
    const worker = await connectWorker();
    const runId = await runs.create({ prompt: 'First' });
    const first = await beginNext(worker);
    await prompt(first);
    await followUp(runId, 'Second');
    await followUp(runId, 'Third');
    const messages = await waiting(first);
    await deliver(first, messages.slice(0, 1));
    worker.fail(first.assignment, { message: 'Gone', failure_reason: 'evicted' });
    const second = await beginNext(worker);
    expect(await prompt(second)).toBe('Third');
    expect((await deliver(first, messages)).status).toBe(401);
    expect(await deliver(second, messages)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'message_ids' }] },
    });
  });

  it('is neither lost nor given twice when the service goes between fetch and use', async () => {
    const worker = await connectWorker();
    const runId = await runs.create({ prompt: 'First' });
    const runner = await beginNext(worker);
    await prompt(runner);
    await followUp(runId, 'Second');
    const replica = await startTestApp({}, server);
    const overThere = new SimulatedRunner(replica.url, runner.assignment);
    const messages = await waiting(overThere);
    expect(textsOf(messages)).toEqual(['Second']);
    await replica.close();
    const answers = await Promise.all(Array.from({ length: 8 }, () => deliver(runner, messages)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 204));
    await runner.finish(true);
    await runner.shutDown();
    expect((await runs.read(runId)).state).toBe('SUCCEEDED');
  });

  it('that comes with the outcome is given to this execution or to the next, never to both', async () => {
    const worker = await connectWorker();
    const COUNT = 20;
    for (let n = 0; n < COUNT; n++) await runs.create({ prompt: 'First' });
    const given = new Set<string>();
    for (let n = 0; n < COUNT; n++) {
      const runner = await beginNext(worker);
      const runId = runner.assignment.task_id;
      if ((await prompt(runner)) !== 'First') throw new Error('not the first execution');
      const sending = followUp(runId, 'Second');
      const messages = n % 2 === 0 ? await waiting(runner) : [];
      if (messages.length > 0) await deliver(runner, messages);
      await runner.finish(true);
      expect((await sending).status).toBe(200);
      await runner.shutDown();
      if (messages.length === 0) {
        const { state } = await runs.read(runId);
        expect(state).not.toBe('SUCCEEDED');
        given.add('next');
      } else {
        expect((await runs.read(runId)).state).toBe('SUCCEEDED');
        given.add('this');
      }
      // Those that are queued again come later.
      await server.dataSource.query(
        `UPDATE runs SET available_at = now() + interval '1 hour' WHERE id = $1 AND state = 'QUEUED'`,
        [runId],
      );
    }
    expect(given).toContain('next');
  }, 60_000);

  it('refuses to deliver what is not there', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const runner = await beginNext(worker);
    await prompt(runner);
    await followUp(runId, 'x');
    const other = await runs.create();
    await followUp(other, 'y');
    const foreign = (await runs.call('GET', `messages/${other}`)).body as Waiting[];
    const [own] = await waiting(runner);
    for (const ids of [[], ['x'], [randomUUID()], [own!.message_id, foreign[0]!.message_id]]) {
      expect(
        await runner.call('POST', 'harness-support/messages/delivered', { message_ids: ids }),
      ).toMatchObject({ status: 400 });
    }
    // All or none.
    expect(textsOf(await waiting(runner))).toEqual(['x']);
    await runs.cancel(runId);
    expect((await runner.call('GET', 'harness-support/messages')).status).toBe(409);
    expect((await deliver(runner, [own!])).status).toBe(409);
  });
});

describe('messages by the routes of the published command line', () => {
  it('are listed, read and delivered one by one', async () => {
    const worker = await connectWorker();
    const runId = await runs.create();
    const runner = await beginNext(worker);
    await prompt(runner);
    await followUp(runId, 'One');
    await followUp(runId, 'Two');
    const list = async (query = '') =>
      (await runner.call('GET', `agent/messages/${runId}?${query}`)).body as Record<string, unknown>[];
    const [one, two] = await list();
    expect(one).toEqual({
      message_id: expect.any(String),
      sender_run_id: null,
      subject: '',
      sent_at: expect.any(String),
      delivered_at: null,
      read_at: null,
    });
    const id = String(one?.message_id);
    expect((await runner.call('POST', `agent/messages/${id}/read`, 'null')).body).toEqual({
      ...one,
      read_at: expect.any(String),
      body: 'One',
    });
    expect(await list('unread=true')).toEqual([two]);
    expect((await runner.call('POST', `agent/messages/${id}/delivered`, 'null')).status).toBe(204);
    expect((await runner.call('POST', `agent/messages/${id}/delivered`, 'null')).status).toBe(204);
    expect(textsOf(await waiting(runner))).toEqual(['Two']);
    expect(await list(`since=${String(one?.sent_at)}&limit=1`)).toEqual(
      one?.sent_at === two?.sent_at ? [] : [two],
    );
    expect(await runner.call('GET', `agent/messages/${runId}?limit=0`)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'limit' }] },
    });
    expect((await runner.call('POST', `agent/messages/${randomUUID()}/read`, 'null')).status).toBe(404);
    expect((await runner.call('GET', 'agent/messages/nonsense')).status).toBe(404);
  });

  it('go between the runs of one tree and no others', async () => {
    const worker = await connectWorker();
    const parent = await runs.create({ prompt: 'Parent' });
    const mother = await beginNext(worker);
    await prompt(mother);
    const created = await mother.call('POST', 'agent/runs', { prompt: 'Child' });
    const child = (created.body as { run_id: string }).run_id;
    const daughter = await beginNext(worker);
    await prompt(daughter);
    const stranger = await runs.create();
    const send = (runner: SimulatedRunner, to: string[], more: object = {}) =>
      runner.call('POST', 'agent/messages', { to, subject: 'Review', body: 'Look', ...more });

    const sent = await send(daughter, [parent], { sender_run_id: child });
    expect(sent.status).toBe(200);
    expect(await waiting(mother)).toEqual([
      {
        message_id: (sent.body as { message_ids: string[] }).message_ids[0],
        message: 'Look',
        subject: 'Review',
        sender_run_id: child,
      },
    ]);
    expect(await send(mother, [child, stranger])).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'to' }] },
    });
    // To all or to none.
    expect(await waiting(daughter)).toEqual([]);
    expect(await send(mother, [child], { sender_run_id: child })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'sender_run_id' }] },
    });

    await daughter.finish(true);
    await daughter.shutDown();
    // It waits there: agents do not wake each other up for ever.
    expect((await send(mother, [child])).status).toBe(200);
    expect((await runs.read(child)).state).toBe('SUCCEEDED');
    await followUp(child, 'Go on');
    await worker.nextAssignment();
    const [, again] = (await runs.call('GET', `messages/${child}`)).body as Waiting[];
    expect(again).toBeDefined();
  });
});

describe('the built-in worker', () => {
  it('goes on with a follow-up in the same execution, workspace and conversation', async () => {
    const runnerPath = join(import.meta.dirname, '../dist/execution/runner/main.js');
    if (!existsSync(runnerPath)) throw new Error('This test executes the compiled runner: npm run build');
    const home = await mkdtemp(join(tmpdir(), 'millwright-live-'));
    const quiet = (): void => undefined;
    const worker = new BuiltInWorker({
      url: server.url,
      apiKey: ADMIN_KEY,
      workerId: 'built-in',
      slots: 1,
      workspaceRoot: join(home, 'workspaces'),
      runnerPath,
      hostEnvironment: { HOME: home, PATH: process.env.PATH ?? '/usr/bin:/bin', TMPDIR: home },
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    worker.start();
    try {
      const block = (script: string) => `\`\`\`bash\n${script}\n\`\`\``;
      const runId = await runs.create({
        prompt: block(
          'echo kept > file; touch "$HOME/begun"; while [ ! -e "$HOME/go" ]; do sleep 0.02; done',
        ),
      });
      await eventually(() => Promise.resolve(existsSync(join(home, 'begun')) || undefined));
      await followUp(runId, block('cat file'));
      await writeFile(join(home, 'go'), '');
      await runs.untilState(runId, 'SUCCEEDED');
      const executions = (await runs.timeline(runId)).filter(
        ({ event_type: type }) => type === 'run_assigned',
      );
      expect(executions).toHaveLength(1);
      const { body } = await runs.call('GET', `runs/${runId}/conversation`);
      const { steps } = body as { steps: { messages: unknown[] }[] };
      expect(steps).toHaveLength(2);
      expect(JSON.stringify(steps[1])).toContain('kept');
    } finally {
      await worker.stop({ drainMs: 0 });
      await rm(home, { recursive: true });
    }
  });
});
