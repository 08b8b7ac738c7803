import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BuiltInWorker } from '../src/execution/worker/built-in-worker.js';
import { cliCalls, installFakeAgentClis } from './support/fake-agent-clis.js';
import { FakeControlPlane, type FakeRun } from './support/fake-control-plane.js';
import { isAlive } from './support/processes.js';

const RUNNER = join(import.meta.dirname, '../dist/execution/runner/main.js');
const COMMAND = join(import.meta.dirname, '../bin/millwright-runner.mjs');
const FIXTURES = join(import.meta.dirname, 'fixtures');
const PATH = process.env['PATH'] ?? '/usr/bin:/bin';
const SECRET = 'deploy-key-"quoted"-4711';

const AGENTS = [
  { type: 'claude', fixture: 'claude-2.1.328-stream.jsonl', home: 'CLAUDE_CONFIG_DIR', tokens: 42 },
  { type: 'codex', fixture: 'codex-0.169.0-exec.jsonl', home: 'CODEX_HOME', tokens: 30 },
  { type: 'gemini', fixture: 'gemini-0.61.0-stream.jsonl', home: 'GEMINI_CLI_HOME', tokens: 30 },
] as const;

/** In the words of each CLI. */
const MCP_FILES = {
  claude: JSON.stringify({
    mcpServers: {
      docs: {
        type: 'http',
        url: 'https://mcp.acme.example/docs',
        headers: { Authorization: 'Bearer "k"' },
      },
      shop: { command: 'shop-mcp', args: ['--quiet', 'a b'], env: { SHOP: 'north' } },
    },
  }),
  codex: [
    '[mcp_servers."docs"]',
    'url = "https://mcp.acme.example/docs"',
    String.raw`http_headers = { "Authorization" = "Bearer \"k\"" }`,
    '',
    '[mcp_servers."shop"]',
    'command = "shop-mcp"',
    'args = ["--quiet","a b"]',
    'env = { "SHOP" = "north" }',
    '',
  ].join('\n'),
  gemini: JSON.stringify({
    mcpServers: {
      docs: { httpUrl: 'https://mcp.acme.example/docs', headers: { Authorization: 'Bearer "k"' } },
      shop: { command: 'shop-mcp', args: ['--quiet', 'a b'], env: { SHOP: 'north' } },
    },
  }),
};

type AgentType = (typeof AGENTS)[number]['type'];

let server: FakeControlPlane;
let worker: BuiltInWorker;
let home: string;
let bin: string;

beforeEach(async () => {
  if (!existsSync(RUNNER)) throw new Error('These tests execute the compiled runner: npm run build');
  server = new FakeControlPlane();
  await server.comeUp();
  home = await mkdtemp(join(tmpdir(), 'millwright-test-'));
  bin = await installFakeAgentClis(home);
  const quiet = (): void => undefined;
  worker = new BuiltInWorker({
    url: server.url,
    apiKey: FakeControlPlane.apiKey,
    workerId: 'test-worker',
    slots: 2,
    workspaceRoot: join(home, 'workspaces'),
    runnerPath: RUNNER,
    hostEnvironment: { HOME: home, PATH: `${bin}:${PATH}`, TMPDIR: home },
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    redialCapMs: 100,
  });
  worker.start();
  await server.untilConnected();
});

afterEach(async () => {
  await worker.stop({ drainMs: 0 });
  await server.goDown();
  await rm(home, { recursive: true });
});

describe.each(AGENTS)('a run of the harness $type', ({ type, fixture, home: homeVariable, tokens }) => {
  it('gives the prompt to the agent and reports what it says of its success', async () => {
    const run = await perform(type, 'say hi');

    expect(run.finished).toEqual({ success: true, summary: 'All done: fake-ok' });
    expect(run.shutdown).toEqual({});
    const [call] = await cliCalls(home);
    expect(call).toMatchObject({ name: type, prompt: 'say hi' });
    expect(call?.environment[homeVariable]).toBe(join(call?.cwd ?? '', '.millwright', type));
    expect(JSON.stringify(call?.args)).not.toContain('say hi');
  });

  it('keeps the stream untouched in the transcript, between lines of its own', async () => {
    const run = await perform(type, 'say hi');

    const [call] = await cliCalls(home);
    const lines = run.transcript.trimEnd().split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({ type: 'millwright.turn_started', prompt: 'say hi' });
    const recorded = (await readFile(join(FIXTURES, fixture), 'utf8')).trimEnd().split('\n');
    const sessionId = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(recorded[0]!)![0];
    const { session_id: usedId } = JSON.parse(lines.at(-1)!) as { session_id: string };
    expect(lines.slice(1, -1)).toEqual(recorded.map((line) => line.replaceAll(sessionId, usedId)));
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({
      type: 'millwright.session',
      envelope: { cwd: call?.cwd },
    });
  });

  it('goes on with its session in another workspace', async () => {
    const first = await perform(type, 'say hi');
    const second = server.addRun({
      prompt: 'and again',
      harness: { type, model_id: 'a-model' },
      continues: true,
      transcript: first.transcript,
    });
    server.assign(second);
    await server.untilClosed(second);

    expect(second.finished).toEqual({ success: true, summary: 'All done: fake-ok' });
    const [before, after] = await cliCalls(home);
    expect(after?.cwd).not.toBe(before?.cwd);
    expect(after?.args).toContain('a-model');
    expect(after?.earlier).toContain('"prompt":"say hi"');
    if (type === 'codex') expect(after?.earlier).toContain(`"cwd":"${after?.cwd}"`);
    const lines = second.transcript.trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('{"type":"millwright.session"'))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('{"type":"millwright.turn_started"'))).toHaveLength(2);
    expect(lines.at(-1)).toContain('\\"and again\\"'.replaceAll('\\', ''));
  });

  it('goes on with what was said meanwhile, in the same session, and counts both', async () => {
    const run = await perform(type, 'say hi', { waiting: [{ message_id: 'a', message: 'and again' }] });

    expect(run.finished).toMatchObject({ success: true });
    const [before, after] = await cliCalls(home);
    expect(after).toMatchObject({ prompt: 'and again', cwd: before?.cwd });
    expect(after?.earlier).toContain('"prompt":"say hi"');
    // The recorded streams of both turns are the same: a cumulative counter stands still.
    expect(run.usage?.total_tokens).toBe(type === 'codex' ? tokens : 2 * tokens);
  });

  it('thinks as hard as it is told', async () => {
    await perform(type, 'say hi', { harness: { type, model_id: '', reasoning_level: 'high' } });
    const [call] = await cliCalls(home);
    const flags = { claude: '--effort high', codex: '-c model_reasoning_effort="high"', gemini: '' };
    expect(call?.args.join(' ')).toContain(flags[type]);
  });

  it('has its MCP servers, told in a file that goes with the workspace', async () => {
    const docs = { url: 'https://mcp.acme.example/docs', headers: { Authorization: 'Bearer "k"' } };
    const shop = { command: 'shop-mcp', args: ['--quiet', 'a b'], env: { SHOP: 'north' } };
    const run = await perform(type, 'say hi', { mcpServers: { docs, shop } });

    expect(run.finished).toMatchObject({ success: true });
    const [call] = await cliCalls(home);
    expect(JSON.stringify(call?.args)).not.toContain('north');
    expect(call?.mcp).toBe(MCP_FILES[type]);
    const [without] = await perform(type, 'say hi').then(() =>
      cliCalls(home).then((calls) => calls.slice(1)),
    );
    expect(without?.mcp).toBe('');
  });

  it('is done when the agent has said so, also when that does not end', async () => {
    const run = await perform(type, 'fake:linger');
    expect(run.finished).toMatchObject({ success: true });
  }, 30_000);

  it('reports the pull request that it has made', async () => {
    const run = await perform(type, 'fake:pull-request');
    expect(run.artifacts).toEqual([
      {
        artifact_type: 'PULL_REQUEST',
        data: { url: 'https://github.example/acme/shop/pull/7', branch: 'fix-checkout' },
      },
    ]);
    expect(run.finished).toMatchObject({ success: true });
  });

  it('reports what was used of the model', async () => {
    const run = await perform(type, 'say hi');
    expect(run.usage).toMatchObject({ total_tokens: tokens });
  });

  it('calls nothing a success that the agent does not', async () => {
    const run = await perform(type, 'fake:die');

    expect(run.finished).toBeUndefined();
    expect(run.shutdown?.error).toEqual({
      category: 'agent_process_failed',
      message: expect.stringMatching(/ended with exit code 3 and without a result: .*out of luck/s),
    });
    expect(run.transcript).toContain('"type":"millwright.turn_aborted"');
  });

  it('leaves no process when it is cancelled, whatever signals they ignore and wherever they went', async () => {
    const run = assign(type, 'fake:hang');
    const pids = await hanging();
    server.cancel(run);

    expect(await server.untilClosed(run)).toMatchObject({ data: { task_state: 'CANCELLED' } });
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('leaves no process when its runner is killed, and its session to whoever goes on', async () => {
    const run = assign(type, 'fake:hang');
    const pids = await hanging();
    await server.until(() => run.transcript.includes('"type":"millwright.session"'));
    process.kill(await parentOf(pids[0]!), 'SIGKILL');
    await server.untilClosed(run);
    await until(() => !pids.some(isAlive));

    const { transcript } = run;
    const next = await perform(type, 'and again', { continues: true, transcript });
    expect(next.finished).toMatchObject({ success: true });
    const [, after] = await cliCalls(home);
    expect(after?.earlier).toContain('"prompt":"fake:hang"');
  });

  it('is ended when it says nothing for too long', async () => {
    const run = assign(type, 'fake:hang', { stallMinutes: 0.05 });
    const pids = await hanging();
    await server.untilClosed(run);

    expect(run.shutdown?.error).toMatchObject({
      category: 'agent_process_failed',
      message: expect.stringContaining('printed nothing for 0.05 minutes'),
    });
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('shows no value of a secret', async () => {
    const run = await perform(type, 'fake:leak', { secrets: { DEPLOY_KEY: SECRET } });

    const [call] = await cliCalls(home);
    expect(call?.environment.DEPLOY_KEY).toBe(SECRET);
    expect(run.transcript).toContain('the key is ***');
    expect(run.transcript).not.toContain('4711');
  });

  it('survives lines that are no JSON, and lines without end', async () => {
    const run = await perform(type, 'fake:noise');

    expect(run.finished).toEqual({ success: true, summary: 'All done: fake-ok' });
    expect(run.transcript).toContain('[not json] noise\n');
    expect(run.transcript).toContain('"type":"millwright.lines_dropped"');
    expect(run.transcript.length).toBeLessThan(100_000);
  });

  it('says what to install where the agent is missing', async () => {
    await rm(join(bin, type));
    const run = await perform(type, 'say hi');

    expect(run.shutdown?.error).toEqual({
      category: 'integration_not_configured',
      message: expect.stringContaining(`no "${type}" in its PATH. Install it there (npm install --global @`),
    });
  });
});

describe('a follow-up to a run of the harness claude that is at work', () => {
  it('reaches the agent in the midst of its turn', async () => {
    const run = assign('claude', 'fake:listen');
    await server.untilFollowed(run);
    run.waiting = [{ message_id: 'a', message: 'one more thing' }];
    server.announce(run, 'new_message');
    await server.untilClosed(run);

    expect(run.finished).toEqual({ success: true, summary: 'All done: fake-ok' });
    expect(run.delivered).toEqual(['a']);
    expect(await readFile(join(home, 'heard.txt'), 'utf8')).toBe('one more thing');
    expect(await cliCalls(home)).toHaveLength(1);
    expect(run.usage?.total_tokens).toBe(42);
  });
});

describe('the command millwright-runner', () => {
  const start = (run: FakeRun, ...args: string[]): Promise<[number | null, string]> => {
    const child = spawn(COMMAND, args, {
      cwd: home,
      env: {
        PATH: `${bin}:${PATH}`,
        HOME: home,
        OZ_RUN_ID: run.id,
        WARP_API_KEY: `wk-${run.id}`,
        WARP_WORKLOAD_TOKEN: run.executionId,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let words = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (words += text));
    return new Promise((resolve) => child.once('close', (code) => resolve([code, words])));
  };

  it('executes a run with the arguments of published workers', async () => {
    const run = server.addRun({ prompt: 'say hi', harness: { type: 'codex', model_id: '' } });
    const flags = `agent run --task-id ${run.id} --sandboxed --server-root-url ${server.url} --idle-on-complete 45m`;

    expect(await start(run, ...flags.split(' '))).toEqual([0, '']);
    expect(run.finished).toMatchObject({ success: true });
  });

  it('reports for an agent', async () => {
    const run = server.addRun({ prompt: '' });
    const address = ['--server-root-url', server.url];

    expect(await start(run, 'harness-support', 'ping', ...address)).toEqual([0, '']);
    const finish = ['harness-support', 'finish-task', '--status', 'failure', '--summary', 'no luck'];
    expect(await start(run, ...finish, ...address)).toEqual([0, '']);
    expect(run.finished).toEqual({ success: false, summary: 'no luck' });
    run.refuseWith = 400;
    const [code, words] = await start(run, 'harness-support', 'report-shutdown', ...address);
    expect([code, words]).toEqual([1, expect.stringContaining('answered 400')]);
  });
});

function assign(type: AgentType, prompt: string, changes: Partial<FakeRun> = {}): FakeRun {
  const run = server.addRun({ prompt, harness: { type, model_id: '' }, ...changes });
  server.assign(run);
  return run;
}

/** Assigns a run and waits for its end. */
async function perform(type: AgentType, prompt: string, changes: Partial<FakeRun> = {}): Promise<FakeRun> {
  const run = assign(type, prompt, changes);
  await server.untilClosed(run);
  return run;
}

/** The agent that hangs, and the child that it has put into a session of its own. */
async function hanging(): Promise<number[]> {
  const file = join(home, 'hanging.json');
  await until(() => existsSync(file));
  return JSON.parse(await readFile(file, 'utf8')) as number[];
}

async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.split(') ')[1]?.split(' ')[1]);
}

/** For what only the operating system knows. The test's own time limit is the bound. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}
