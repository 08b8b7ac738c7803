import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { BuiltInWorker, type BuiltInWorkerOptions } from '../src/execution/worker/built-in-worker.js';
import { FakeControlPlane, transcriptOf, type FakeRun } from './support/fake-control-plane.js';

const RUNNER = join(import.meta.dirname, '../dist/execution/runner/main.js');
const PATH = process.env['PATH'] ?? '/usr/bin:/bin';
const SECOND = 1000;

/** Tells the test the id of the runner, which leads the run's process group, and that the block was reached. */
const TELL_GROUP = 'echo "$PPID" > "$HOME/group.tmp"; mv "$HOME/group.tmp" "$HOME/group"';

let server: FakeControlPlane;
let worker: BuiltInWorker;
let home: string;
let workspaceRoot: string;

beforeEach(async () => {
  if (!existsSync(RUNNER)) throw new Error('These tests execute the compiled runner: npm run build');
  server = new FakeControlPlane();
  await server.comeUp();
  home = await mkdtemp(join(tmpdir(), 'millwright-test-'));
  workspaceRoot = join(home, 'workspaces');
});

afterEach(async () => {
  await worker.stop({ drainMs: 0 });
  await server.goDown();
  await rm(home, { recursive: true });
});

describe('a run of the script model', () => {
  beforeEach(() => startWorker());

  it('executes its blocks in order and reports success and its transcript', async () => {
    const run = await perform(blocks('echo one; echo two >&2; echo three', 'pwd; echo "$TASK_ID"'));

    expect(run.finished).toEqual({ success: true, summary: '2 commands succeeded' });
    expect(run.shutdown).toEqual({});
    expect(run.calls).toEqual([
      'harness-support/execution',
      `agent/runs/${run.id}/client-events`,
      `agent/events/${run.id}`,
      'harness-support/resolve-prompt',
      'harness-support/external-conversation',
      'harness-support/transcript',
      'harness-support/messages',
      'harness-support/finish-task',
      'harness-support/report-shutdown',
    ]);
    const workspace = join(workspaceRoot, `${run.id}-${run.executionId}`);
    expect(transcriptOf(run)).toMatchObject([
      { type: 'user_message', text: run.prompt },
      { type: 'command_started', command: 'echo one; echo two >&2; echo three\n' },
      { type: 'command_finished', output: 'one\ntwo\nthree\n', exit_code: 0, truncated_bytes: 0 },
      { type: 'command_started', command: 'pwd; echo "$TASK_ID"\n' },
      { type: 'command_finished', output: `${workspace}\n${run.id}\n`, exit_code: 0, truncated_bytes: 0 },
      { type: 'assistant_message', text: '2 commands succeeded' },
      { type: 'turn_completed', success: true },
    ]);
    expect(server.messagesOf(run)).toEqual([
      { type: 'task_claimed', data: { ...referenceTo(run), worker_id: 'test-worker' } },
      { type: 'task_completed', data: { ...referenceTo(run), message: 'Task completed successfully' } },
    ]);
    expect(await readdir(workspaceRoot)).toEqual([]);
  });

  it('stops at the first block that fails', async () => {
    const run = await perform(blocks('true', 'echo trying; echo "no such thing" >&2; exit 7', 'echo never'));

    expect(run.finished).toEqual({
      success: false,
      summary: 'Command 2 of 3 exited with code 7: no such thing',
    });
    expect(run.transcript).not.toContain('"output":"never');
    expect(await server.untilClosed(run)).toMatchObject({ type: 'task_completed' });
  });

  it('is told when its prompt has no block', async () => {
    const run = await perform('Please make everything better.');

    expect(run.finished).toBeUndefined();
    expect(run.shutdown).toMatchObject({ error: { category: 'integration_not_configured' } });
    expect(transcriptOf(run).map(({ type }) => type)).toEqual(['user_message', 'turn_completed']);
  });

  it('is told when its harness is not supported', async () => {
    const run = server.addRun({
      prompt: blocks('true'),
      harness: { type: 'claude', model_id: 'claude-sonnet' },
    });
    server.assign(run);
    await server.untilClosed(run);

    expect(run.shutdown).toMatchObject({ error: { category: 'integration_not_configured' } });
  });

  it('gives each block an empty input, outputs that can be opened by name, and no way to the guard', async () => {
    const openFiles = 'for n in 3 4 5 6 7 8 9; do { true <&$n; } 2>/dev/null && echo "$n is open"; done';
    const run = await perform(
      blocks('cat; echo named > /dev/stdout; echo error > /dev/stderr', `${openFiles}; true`),
    );

    expect(outputsOf(run)).toEqual(['named\nerror\n', '']);
  });

  it('does not wait for what a block leaves in the background, and lets it live until the run ends', async () => {
    const run = await perform(
      blocks(
        `(while sleep 0.05; do echo noise; done) & echo $! > job; ${TELL_GROUP}`,
        'sleep 0.3; kill -0 "$(cat job)" && echo alive',
      ),
    );

    expect(outputsOf(run).at(-1)).toBe('alive\n');
    await untilGroupIsGone(await groupOf());
  });

  it('has the signal that ended a block in its exit code', async () => {
    const run = await perform(blocks('kill -KILL $$'));

    expect(run.finished).toEqual({ success: false, summary: 'The command exited with code 137' });
  });

  it('keeps both ends of a long output', async () => {
    const run = await perform(blocks('echo first; head -c 3000000 /dev/zero; echo; echo last'));
    const finished = transcriptOf(run).find((line) => line.type === 'command_finished');

    expect(finished).toMatchObject({ truncated_bytes: 3_000_012 - 1024 * 1024 });
    expect(finished?.output).toMatch(/^first\n\uFFFD+\n\[… \d+ bytes left out …\]\n\uFFFD+\nlast\n$/);
  });

  it('takes a script of any length and any text in it', async () => {
    const filler = `: ${'x'.repeat(500_000)}`;
    const run = await perform(blocks(`#!/bin/bash\n${filler}\ncat <<'END'\n"$HOME" \\ 'ü' 😀\nEND`));

    expect(outputsOf(run)).toEqual([`"$HOME" \\ 'ü' 😀\n`]);
  });

  it('goes on in the transcript of its conversation', async () => {
    const earlier = '{"type":"user_message","id":"1","timestamp":"2026-01-01T00:00:00Z","text":"before"}';
    const run = server.addRun({ prompt: blocks('true'), continues: true, transcript: earlier });
    server.assign(run);
    await server.untilClosed(run);

    expect(transcriptOf(run).slice(0, 2)).toMatchObject([{ text: 'before' }, { text: run.prompt }]);
  });
});

describe('messages that come while the agent works', () => {
  beforeEach(() => startWorker());

  it('are its next turns, in the same workspace and the same transcript', async () => {
    const run = assign(blocks('echo first > file; echo one'), {
      waiting: [
        { message_id: 'a', message: blocks('cat file; echo second > file') },
        { message_id: 'b', message: blocks('cat file') },
      ],
    });
    await server.untilClosed(run);
    expect(run.delivered).toEqual(['a', 'b']);
    expect(run.finished).toEqual({ success: true, summary: '2 commands succeeded' });
    expect(outputsOf(run)).toEqual(['one\n', 'first\n', 'second\n']);
    expect(transcriptOf(run).filter(({ type }) => type === 'user_message')).toHaveLength(2);
    expect(run.calls.filter((path) => path.startsWith('harness-support/messages'))).toEqual([
      'harness-support/messages',
      'harness-support/messages/delivered',
      'harness-support/messages',
    ]);
  });

  it('may put right what failed, and are left to the next execution by a prompt that cannot be executed', async () => {
    const waiting = [{ message_id: 'a', message: blocks('true') }];
    const failed = assign(blocks('exit 3'), { waiting });
    await server.untilClosed(failed);
    expect(failed.finished).toEqual({ success: true, summary: '1 command succeeded' });

    const empty = assign('No block', { waiting });
    await server.untilClosed(empty);
    expect(empty.delivered).toEqual([]);
    expect(empty.shutdown?.error?.category).toBe('integration_not_configured');
  });
});

describe('a run of which nothing is heard for too long', () => {
  const SILENT = `sleep 600 & ${TELL_GROUP}; echo begun; sleep 600`;

  beforeEach(() => startWorker());

  it('is ended', async () => {
    const run = assign(blocks('true', SILENT), { stallMinutes: 0.03 });
    const group = await groupOf();
    await server.untilClosed(run);

    expect(run.shutdown?.error).toEqual({
      category: 'agent_process_failed',
      message: 'Command 2 of 2 printed nothing for 0.03 minutes and was ended',
    });
    expect(transcriptOf(run).slice(-2)).toMatchObject([
      { type: 'command_finished', output: 'begun\n', exit_code: 137 },
      { type: 'turn_completed', success: false },
    ]);
    expect(await processesIn(group)).toEqual([]);
  });

  it('goes on as long as it prints', async () => {
    const run = assign(blocks('for n in 1 2 3 4 5; do echo $n; sleep 0.3; done'), { stallMinutes: 0.02 });
    await server.untilClosed(run);

    expect(run.finished).toMatchObject({ success: true });
  });

  it('has failed in its set-up by a command', async () => {
    const environment = { repositories: [], git_base_url: '', setup_commands: [SILENT] };
    const run = assign(blocks('true'), { stallMinutes: 0.03, environment });
    const group = await groupOf();
    await server.untilClosed(run);

    expect(run.setUpFailure?.message).toBe(
      `Set-up command 1 of 1 failed: ${SILENT}\nit printed nothing for 0.03 minutes and was ended\nbegun`,
    );
    expect(await processesIn(group)).toEqual([]);
  });

  it('has failed in its set-up by a clone', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const environment = {
      repositories: [{ owner: 'acme', repo: 'shop' }],
      git_base_url: `git://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      setup_commands: [],
    };
    const run = assign(blocks('true'), { stallMinutes: 0.03, environment });
    await server.untilClosed(run);
    silent.close();

    expect(run.setUpFailure?.message).toMatch(
      /^The repository acme\/shop could not be cloned: it printed nothing for 0.03 minutes and was ended\n/,
    );
  });
});

describe('a run that is ended from outside', () => {
  beforeEach(() => startWorker());

  it('is gone with all of its processes soon after a cancellation', async () => {
    const run = assign(blocks(`sleep 600 & ${TELL_GROUP}; sleep 600`));
    const group = await groupOf();
    server.cancel(run, run.executionId);

    expect(await within(5 * SECOND, server.untilClosed(run))).toEqual({
      type: 'task_completed',
      data: {
        ...referenceTo(run),
        message: 'Task cancelled by user request.',
        task_state: 'CANCELLED',
      },
    });
    expect(await processesIn(group)).toEqual([]);
    expect(await readdir(workspaceRoot)).toEqual([]);
    expect(run.finished).toBeUndefined();
  });

  it('is killed when it does not answer the request to stop', async () => {
    const run = assign(blocks(`sleep 600 & ${TELL_GROUP}; sleep 600`));
    const group = await groupOf();
    process.kill(group, 'SIGSTOP');
    server.cancel(run);

    expect(await within(5 * SECOND, server.untilClosed(run))).toMatchObject({
      data: { task_state: 'CANCELLED' },
    });
    expect(await processesIn(group)).toEqual([]);
  });

  it('is not touched by a cancellation of another execution', async () => {
    const run = assign(blocks(`${TELL_GROUP}; while [ ! -e "$HOME/go" ]; do sleep 0.02; done`));
    await groupOf();
    server.cancel(run, 'another-execution');
    await writeFile(join(home, 'go'), '');

    expect(await server.untilClosed(run)).toMatchObject({ data: { message: 'Task completed successfully' } });
  });

  it('ends with its runner, however that ended', async () => {
    const run = assign(blocks(`sleep 600 & ${TELL_GROUP}; sleep 600`));
    const group = await groupOf();
    process.kill(group, 'SIGKILL');

    expect(await server.untilClosed(run)).toEqual({
      type: 'task_failed',
      data: {
        ...referenceTo(run),
        message: 'The runner was ended by SIGKILL.',
        failure_reason: 'agent_invocation',
        exit_code: 137,
      },
    });
    expect(await processesIn(group)).toEqual([]);
  });

  it('stops when the server says that the execution is over', async () => {
    const run = assign(blocks(`sleep 600 & ${TELL_GROUP}; sleep 600`), { heartbeatSeconds: 0.1 });
    const group = await groupOf();
    run.refuseWith = 409;

    expect(await server.untilClosed(run)).toMatchObject({ type: 'task_completed' });
    expect(await processesIn(group)).toEqual([]);
    expect(run.finished).toBeUndefined();
  });

  it('stops within seconds of a cancel that no worker passes on, and only when it is meant', async () => {
    const run = assign(blocks(`${TELL_GROUP}; sleep 600`), { heartbeatSeconds: 600 });
    const group = await groupOf();
    await server.untilFollowed(run);
    // Of an earlier execution.
    server.announce(run, 'run_cancelled');
    await server.until(() => run.heartbeats === 1);
    expect(await processesIn(group)).not.toEqual([]);
    run.refuseWith = 409;
    const cancelledAt = performance.now();
    server.announce(run, 'run_cancelled');
    await untilGroupIsGone(group);
    expect(performance.now() - cancelledAt).toBeLessThan(3 * SECOND);
  });

  it('has failed when the server does not know it', async () => {
    const run = assign(blocks('true'), { refuseWith: 401 });

    expect(await server.untilClosed(run)).toMatchObject({
      type: 'task_failed',
      data: { exit_code: 1, message: expect.stringContaining('answered 401 to harness-support/execution') },
    });
  });

  it('is stopped and reported when its worker shuts down', async () => {
    const run = assign(blocks(`sleep 600 & ${TELL_GROUP}; sleep 600`));
    const group = await groupOf();
    await worker.stop({ drainMs: 50 });

    expect(await processesIn(group)).toEqual([]);
    expect(await server.untilClosed(run)).toMatchObject({
      type: 'task_failed',
      data: { ...referenceTo(run), failure_reason: 'graceful_shutdown' },
    });
  });

  it('may finish while its worker drains, and no other is taken then', async () => {
    const run = assign(blocks(`${TELL_GROUP}; while [ ! -e "$HOME/go" ]; do sleep 0.02; done`));
    await groupOf();
    const stopped = worker.stop({ drainMs: 60 * SECOND });
    const late = assign(blocks('true'));
    expect(await server.until(() => server.messagesOf(late)[0])).toMatchObject({
      type: 'task_rejected',
      data: { reason: 'worker is shutting down' },
    });
    await writeFile(join(home, 'go'), '');
    await stopped;

    expect(await server.untilClosed(run)).toMatchObject({ type: 'task_completed' });
  });
});

describe('a runner without its server', () => {
  beforeEach(() => startWorker());

  it('carries on and reports when the server is back', async () => {
    const run = assign(blocks(`${TELL_GROUP}; while [ ! -e "$HOME/go" ]; do sleep 0.02; done`), {
      heartbeatSeconds: 0.2,
    });
    await groupOf();
    await server.goDown();
    await writeFile(join(home, 'go'), '');
    // An outage of this length is the subject of the test.
    await sleep(2 * SECOND);
    await server.comeUp();

    await server.until(() => run.shutdown);
    expect(run.finished).toEqual({ success: true, summary: '1 command succeeded' });
    expect(await server.untilClosed(run)).toMatchObject({ type: 'task_completed' });
  });

  it('has its end reported on a later connection of the worker', async () => {
    const run = assign(blocks(`${TELL_GROUP}; while [ ! -e "$HOME/go" ]; do sleep 0.02; done`));
    const group = await groupOf();
    server.refusesWorkers = true;
    server.dropWorkers();
    await writeFile(join(home, 'go'), '');
    await untilGroupIsGone(group);
    server.refusesWorkers = false;

    expect(await server.untilClosed(run)).toMatchObject({ type: 'task_completed' });
    expect(server.received.map(({ connection, message }) => [connection, message.type])).toEqual([
      [1, 'task_claimed'],
      [2, 'task_completed'],
    ]);
  });

  it('outlives its worker', async () => {
    await worker.stop({ drainMs: 0 });
    const run = server.addRun({
      prompt: blocks(`${TELL_GROUP}; while [ ! -e "$HOME/go" ]; do sleep 0.02; done`),
    });
    const runner = spawn(process.execPath, [RUNNER], {
      env: { PATH, HOME: home, TMPDIR: home, ...environmentOf(run) },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await groupOf();
    runner.stdout.destroy();
    runner.stderr.destroy();
    run.refuseWith = 400;
    await writeFile(join(home, 'go'), '');

    expect(await once(runner, 'exit')).toEqual([1, null]);
  });
});

describe('a runner that a foreign worker starts in its own process group', () => {
  beforeEach(() => startWorker());

  it.each([
    ['killed', 'SIGKILL', [null, 'SIGKILL']],
    ['asked to stop', 'SIGTERM', [143, null]],
  ] as const)('takes its processes with it when it is %s', async (_, signal, end) => {
    const run = server.addRun({ prompt: blocks(`sleep 600 & ${TELL_GROUP}; sleep 600`) });
    const runner = spawn(process.execPath, [RUNNER], {
      env: { PATH, HOME: home, TMPDIR: home, ...environmentOf(run) },
      stdio: 'ignore',
    });
    const group = await groupOf();
    expect(group).not.toBe(runner.pid);
    runner.kill(signal);

    expect(await once(runner, 'exit')).toEqual(end);
    await untilGroupIsGone(group);
  });
});

describe('the worker', () => {
  it('announces itself when it connects', async () => {
    await startWorker({ slots: 3 });

    expect(server.handshake).toMatchObject({
      'x-warp-worker-capabilities': 'execution-scoped-cancellation-v1',
      'x-millwright-worker-slots': '3',
    });
  });

  it('rejects what is more than its slots', async () => {
    await startWorker({ slots: 1 });
    const first = assign(blocks(`${TELL_GROUP}; while [ ! -e "$HOME/go" ]; do sleep 0.02; done`));
    const second = assign(blocks('true'));

    expect(await server.until(() => server.messagesOf(second)[0])).toEqual({
      type: 'task_rejected',
      data: { ...referenceTo(second), reason: 'worker at maximum concurrency' },
    });
    await writeFile(join(home, 'go'), '');
    await server.untilClosed(first);
    server.assign(second);
    await server.untilClosed(second);
    expect(second.finished).toMatchObject({ success: true });
  });

  it('executes an assignment once, however often it comes', async () => {
    await startWorker();
    const run = assign(blocks('true'));
    server.assign(run);
    await server.untilClosed(run);
    server.assign(run);
    await perform(blocks('true'));

    expect(server.messagesOf(run).map(({ type }) => type)).toEqual(['task_claimed', 'task_completed']);
  });

  it('passes over what it does not understand', async () => {
    await startWorker();
    server.sendText('no JSON');
    server.sendText('{"type":"task_assignment","data":{"task_id":"../..","execution_id":"x"}}');
    server.sendText('{"type":"something_new","data":{}}');
    const run = await perform(blocks('true'));

    expect(run.finished).toMatchObject({ success: true });
    expect(server.received).toHaveLength(2);
  });

  it('says why a runner could not be started', async () => {
    await startWorker({ runnerPath: join(home, 'missing.js') });
    const run = assign(blocks('true'));

    expect(await server.untilClosed(run)).toMatchObject({
      type: 'task_failed',
      data: { failure_reason: 'agent_invocation', exit_code: 1 },
    });
  });

  it('says why a workspace could not be made', async () => {
    await writeFile(workspaceRoot, 'not a directory');
    await startWorker();
    const run = assign(blocks('true'));

    expect(await server.untilClosed(run)).toMatchObject({
      type: 'task_failed',
      data: { failure_reason: 'workspace_setup' },
    });
  });

  it('removes the workspaces of an earlier worker, except where a runner is still at work', async () => {
    const busy = spawn('sleep', ['600']);
    await leaveWorkspace('busy', { pid: busy.pid!, startTime: await startTimeOf(busy.pid!) });
    await leaveWorkspace('reused-pid', { pid: busy.pid!, startTime: 'long ago' });
    await leaveWorkspace('unreadable', 'nonsense');
    await mkdir(join(workspaceRoot, 'not-ours'));
    await startWorker();
    await eventually(async () => (await readdir(workspaceRoot)).length === 3);

    expect((await readdir(workspaceRoot)).sort()).toEqual(['.busy.runner.json', 'busy', 'not-ours']);
    busy.kill('SIGKILL');
    await once(busy, 'exit');
  });
});

async function startWorker(changes: Partial<BuiltInWorkerOptions> = {}): Promise<void> {
  const quiet = (): void => undefined;
  worker = new BuiltInWorker({
    url: server.url,
    apiKey: FakeControlPlane.apiKey,
    workerId: 'test-worker',
    slots: 2,
    workspaceRoot,
    runnerPath: RUNNER,
    hostEnvironment: { HOME: home, PATH, TMPDIR: home },
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    redialCapMs: 100,
    ...changes,
  });
  worker.start();
  await server.untilConnected();
}

function assign(prompt: string, changes: Partial<FakeRun> = {}): FakeRun {
  const run = server.addRun({ prompt, ...changes });
  server.assign(run);
  return run;
}

/** Assigns a run and waits for its end. */
async function perform(prompt: string): Promise<FakeRun> {
  const run = assign(prompt);
  await server.untilClosed(run);
  return run;
}

function blocks(...scripts: string[]): string {
  return scripts.map((script) => `Then do this:\n\n\`\`\`bash\n${script}\n\`\`\`\n`).join('\n');
}

function referenceTo(run: FakeRun): { task_id: string; execution_id: string } {
  return { task_id: run.id, execution_id: run.executionId };
}

function environmentOf(run: FakeRun): Record<string, string> {
  return {
    OZ_RUN_ID: run.id,
    WARP_API_KEY: `wk-${run.id}`,
    WARP_WORKLOAD_TOKEN: run.executionId,
    WARP_SERVER_ROOT_URL: server.url,
  };
}

function outputsOf(run: FakeRun): string[] {
  return transcriptOf(run).flatMap((line) => (line.type === 'command_finished' ? [line.output] : []));
}

/** The process group of the run whose block says TELL_GROUP, once it was reached. */
async function groupOf(): Promise<number> {
  const file = join(home, 'group');
  await eventually(async () => existsSync(file));
  return Number(await readFile(file, 'utf8'));
}

/** Living processes; zombies are nobody's work. */
async function processesIn(group: number): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pgid=,stat=,args=']);
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith(`${group} `) && !/^\d+ +Z/.test(line));
}

async function untilGroupIsGone(group: number): Promise<void> {
  await eventually(async () => (await processesIn(group)).length === 0);
}

async function leaveWorkspace(name: string, record: object | string): Promise<void> {
  await mkdir(join(workspaceRoot, name), { recursive: true });
  await writeFile(join(workspaceRoot, name, 'file'), '');
  await writeFile(join(workspaceRoot, `.${name}.runner.json`), JSON.stringify(record));
}

async function startTimeOf(pid: number): Promise<string> {
  const { identifyProcess } = await import('../src/execution/worker/process-identity.js');
  return identifyProcess(pid)!.startTime;
}

/** For what only the operating system knows and nobody announces. The test's own time limit is the bound. */
async function eventually(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20);
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const late = sleep(limitMs, undefined, { ref: false }).then(() => {
    throw new Error(`Not within ${limitMs} ms`);
  });
  return Promise.race([work, late]);
}
