import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstTeam, insertTeam, insertUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import { freePort } from './support/service-process.js';
import { SimulatedWorker } from './support/simulated-worker.js';
import { ADMIN_KEY, eventually, startTestApp, type TestApp } from './support/test-app.js';

const MAIN = join(import.meta.dirname, '../dist/cli/main.js');
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const UNKNOWN = '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11';

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

let server: TestApp;
let runs: RunsClient;
let directory: string;
/** All that any command of this file has printed. */
const printed: string[] = [];

beforeAll(async () => {
  if (!existsSync(MAIN)) throw new Error('These tests execute the compiled client: npm run build');
  server = await startTestApp({ ROLES: 'api,dispatcher' });
  runs = new RunsClient(server);
  directory = await mkdtemp(join(tmpdir(), 'millwright-cli-'));
});
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

const start = (args: string[], environment: Record<string, string> = {}, input = '') => {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: directory,
    env: { MILLWRIGHT_URL: server.url, MILLWRIGHT_API_KEY: ADMIN_KEY, ...environment },
  });
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.err += text));
  child.stdin.on('error', () => undefined).end(input);
  const ended: Promise<Ended> = once(child, 'close').then(() => {
    printed.push(texts.out, texts.err);
    return { code: child.exitCode, ...texts };
  });
  return { child, texts, ended };
};

const millwright = (...args: string[]): Promise<Ended> => start(args).ended;

/** The JSON of a command that succeeds. */
const json = async (...args: string[]): Promise<unknown> => {
  const { code, out, err } = await millwright(...args, '--output', 'json');
  if (code !== 0) throw new Error(`exit code ${String(code)}: ${err}`);
  return JSON.parse(out);
};

describe('millwright', () => {
  it('shows who calls, and their teams', async () => {
    const { code, out, err } = await millwright('me');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^user +Admin/);
    expect(out).toMatch(new RegExp(`^\\* +${await firstTeam(server.dataSource)} .* admin`, 'm'));
    expect(await json('me')).toEqual((await server.call('GET', '/v1/me')).body);
  });

  it('acts for the team that is named, before or after the command', async () => {
    const [one, other] = [await insertTeam(server.dataSource), await insertTeam(server.dataSource)];
    const user = await insertUser(server.dataSource, { teams: [one, other] });
    const environment = { MILLWRIGHT_API_KEY: user.key };
    for (const args of [
      ['team', 'members', '--team-uid', other],
      ['--team-uid', other, 'team', 'members'],
    ]) {
      const { code, out } = await start(args, environment).ended;
      expect(code).toBe(0);
      expect(out).toContain(user.uid);
    }
    expect(await start(['me', '--team-uid', other], environment).ended).toMatchObject({
      out: expect.stringMatching(new RegExp(`^\\* +${other}`, 'm')),
    });
    expect(await start(['team', 'members'], environment).ended).toMatchObject({
      code: 1,
      err: expect.stringContaining('--team-uid'),
    });
  });

  it.each([['environment'], ['agent'], ['model'], ['skill']])('lists: %s', async (what) => {
    const { code, out, err } = await millwright(what, 'list');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^[A-Z]/);
    expect(await json(what, 'list')).toEqual(expect.any(Object));
  });

  it('tells what it can do, without a key', async () => {
    const { code, out } = await start(['--help'], { MILLWRIGHT_API_KEY: '' }).ended;
    expect(code).toBe(0);
    for (const name of ['run', 'secret', 'api-key', 'MILLWRIGHT_URL', 'MILLWRIGHT_API_KEY'])
      expect(out).toContain(name);
  });
});

describe('millwright run', () => {
  it('creates a run as it is told', async () => {
    const file = join(directory, 'prompt.md');
    await writeFile(file, 'From a file\n');
    const { code, out } = await millwright('run', 'create', '--prompt-file', file, '--model', 'script');
    expect(code).toBe(0);
    expect(out).toMatch(/^run +[0-9a-f-]{36}\nstate +QUEUED\n$/);
    expect(await runs.read(UUID.exec(out)![0])).toMatchObject({
      prompt: 'From a file\n',
      agent_config: { model_id: 'script' },
    });

    const piped = start(['run', 'create', '--prompt-file', '-', '--title', 'Piped'], {}, 'From a pipe');
    const runId = UUID.exec((await piped.ended).out)![0];
    expect(await runs.read(runId)).toMatchObject({ prompt: 'From a pipe', title: 'Piped' });
  });

  it('names the agent identity to run as', async () => {
    const { body } = await server.call('POST', '/v1/agent/identities', { name: 'Builder' });
    const { uid } = body as { uid: string };
    const created = await json('run', 'create', '--prompt', 'x', '--agent', uid);
    const run = await runs.read((created as { run_id: string }).run_id);
    expect(run).toMatchObject({ executor: { type: 'service_account', uid } });
  });

  it('lists, shows and cancels it', async () => {
    const runId = await runs.create({ prompt: 'Look around', title: 'Look\u001b[2J around' });
    const list = await millwright('run', 'list', '--limit', '1');
    expect(list).toMatchObject({ code: 0, err: 'There are more runs: see --limit.\n' });
    expect(list.out).toMatch(new RegExp(`\n${runId} +QUEUED +\\S+Z +Look around\n$`));
    expect(await json('run', 'list', '--limit', '1')).toEqual(await runs.list('limit=1'));

    expect((await millwright('run', 'get', runId)).out).toMatch(/^state +QUEUED$/m);
    expect(await json('run', 'get', runId)).toEqual(await runs.read(runId));

    expect(await millwright('run', 'cancel', runId)).toEqual({
      code: 0,
      out: `${runId} is cancelled\n`,
      err: '',
    });
    expect((await runs.read(runId)).state).toBe('CANCELLED');
    const timeline = await millwright('run', 'timeline', runId);
    expect(timeline.out).toMatch(/oz_run_created[^]*oz_run_cancelled/);
    expect(await json('run', 'timeline', runId)).toEqual({ events: await runs.timeline(runId) });
    expect(await millwright('run', 'logs', runId)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^resource_not_found: /),
    });
  });

  it.each([
    [true, 0, 'SUCCEEDED'],
    [false, 1, 'FAILED'],
  ])('waits for its end; success is %s, so the exit code is %i', async (success, code, state) => {
    const worker = await SimulatedWorker.connect(server);
    const title = `Waited for ${randomUUID()}`;
    const { ended } = start([
      'run',
      'create',
      '--prompt',
      'x',
      '--title',
      title,
      '--wait',
      '--output',
      'json',
    ]);
    let assignment = await worker.nextAssignment();
    while ((await runs.read(assignment.task_id)).title !== title) {
      worker.claim(assignment);
      assignment = await worker.nextAssignment();
    }
    worker.claim(assignment);
    await runs.untilState(assignment.task_id, 'CLAIMED');
    const runner = worker.runner(assignment);
    await runner.begin();
    await runner.finish(success);
    const { out, err, ...rest } = await ended;
    expect(rest.code).toBe(code);
    expect(JSON.parse(out)).toMatchObject({ run_id: assignment.task_id, state });
    expect(err).toContain(`run ${assignment.task_id}\n`);
    if (!success) expect(err).toContain('The run ended as FAILED.');
    await worker.close();
  });

  it('gives up waiting in time, and on Ctrl-C; the run goes on', async () => {
    const args = ['run', 'create', '--prompt', 'x', '--wait'];
    const late = await millwright(...args, '--timeout', '0.001');
    expect(late).toMatchObject({ code: 1, out: '', err: expect.stringContaining('has not ended in time') });
    expect((await runs.read(UUID.exec(late.err)![0])).state).not.toBe('CANCELLED');

    const { child, texts, ended } = start(args);
    await eventually(() => Promise.resolve(/QUEUED|PENDING/.test(texts.err) ? true : undefined));
    child.kill('SIGINT');
    const { code, err } = await ended;
    expect(code).toBe(130);
    expect(err).toContain('No longer waiting. The run goes on');
    expect((await runs.read(UUID.exec(err)![0])).state).not.toBe('CANCELLED');
  });
});

describe('millwright api-key', () => {
  it('creates, lists and revokes a key', async () => {
    const { code, out } = await millwright(
      'api-key',
      'create',
      '--name',
      'CI',
      '--expires-at',
      '2999-01-01T00:00:00Z',
    );
    expect(code).toBe(0);
    const uid = /^uid +(\S+)$/m.exec(out)![1]!;
    const key = /^key +(wk-\S+)$/m.exec(out)![1]!;
    const asKey = { MILLWRIGHT_API_KEY: key };
    expect((await start(['me'], asKey).ended).code).toBe(0);

    const list = await millwright('api-key', 'list');
    expect(list.out).toMatch(new RegExp(`^${uid} .* CI$`, 'm'));
    expect(list.out).not.toContain(key);

    expect((await millwright('api-key', 'revoke', uid)).out).toBe(`${uid} is revoked\n`);
    const refused = await start(['me'], asKey).ended;
    expect(refused).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^authentication_required: /),
    });
    expect(refused.err).not.toContain(key);
  });

  it('creates the key of an agent identity', async () => {
    const { body } = await server.call('POST', '/v1/agent/identities', { name: 'Deployer' });
    const { uid } = body as { uid: string };
    expect(await json('api-key', 'create', '--name', 'x', '--agent', uid)).toMatchObject({
      owner: { type: 'service_account', uid },
      key: expect.stringMatching(/^wk-/),
    });
  });
});

describe('millwright secret', () => {
  const stored = async (name: string) => {
    const { body } = await server.call('GET', '/v1/secrets');
    return (
      body as { secrets: { name: string; updated_at: string; scope: { type: string } }[] }
    ).secrets.find((secret) => secret.name === name);
  };

  it('takes values from a pipe, and never shows one', async () => {
    const value = 'hunter2-hunter2';
    const created = await start(['secret', 'create', 'TOKEN'], {}, `${value}\n`).ended;
    expect(created).toMatchObject({ code: 0, err: '' });
    expect(created.out).toMatch(/^secret +TOKEN\nowner +team\n/);
    const before = await stored('TOKEN');

    expect((await start(['secret', 'update', 'TOKEN', '--team'], {}, value).ended).code).toBe(0);
    expect((await stored('TOKEN'))!.updated_at > before!.updated_at).toBe(true);

    expect((await start(['secret', 'create', 'TOKEN', '--no-team'], {}, value).ended).out).toMatch(
      /^owner +you$/m,
    );
    const list = (await millwright('secret', 'list')).out;
    expect(list).toMatch(/^TOKEN +team /m);
    expect(list).toMatch(/^TOKEN +you /m);

    expect((await millwright('secret', 'delete', 'TOKEN', '--no-team')).out).toBe('TOKEN is deleted\n');
    expect((await stored('TOKEN'))!.scope.type).toBe('Team');
    expect(await millwright('secret', 'delete', 'TOKEN', '--output', 'json')).toEqual({
      code: 0,
      out: '',
      err: '',
    });
    expect(await stored('TOKEN')).toBeUndefined();
    expect(printed.join('')).not.toContain(value);
  });

  it('takes no value as an argument, and no empty one', async () => {
    expect((await millwright('secret', 'create', 'EMPTY', 'hunter2')).code).toBe(2);
    expect(await start(['secret', 'create', 'EMPTY'], {}, '\n').ended).toMatchObject({
      code: 2,
      err: expect.stringContaining('empty'),
    });
    expect(await stored('EMPTY')).toBeUndefined();
  });
});

describe('an error', () => {
  it('of a field is told with the field', async () => {
    const { code, out, err } = await millwright('run', 'create', '--prompt', 'x', '--environment', 'short');
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^invalid_request: .+\n {2}config\.environment_id: .+\n$/);
  });

  it('of the API is its code and its reason', async () => {
    const answer = { code: 1, out: '', err: 'resource_not_found: There is no such run\n' };
    expect(await millwright('run', 'get', UNKNOWN)).toEqual(answer);
    expect(await millwright('run', 'get', '../../me', '--output', 'json')).toMatchObject({
      code: 1,
      out: '',
    });
  });

  it.each([
    [['rnu']],
    [['run']],
    [['run', 'get']],
    [['run', 'get', '..']],
    [['run', 'create']],
    [['run', 'create', '--prompt', 'a', '--prompt-file', 'b']],
    [['run', 'create', '--prompt-file', 'missing']],
    [['run', 'create', '--prompt', 'a', '--wait', '--timeout', 'soon']],
    [['me', '--output', 'yaml']],
    [['me', '--team-uid', 'a\nb']],
    [['api-key', 'create']],
  ])('of use exits with 2: %j', async (args) => {
    const { code, out, err } = await millwright(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).not.toBe('');
    expect(err).not.toContain('    at ');
  });

  it('without a key names the variable', async () => {
    const { code, err } = await start(['me'], { MILLWRIGHT_API_KEY: '' }).ended;
    expect(code).toBe(2);
    expect(err).toBe('No API key: set the environment variable MILLWRIGHT_API_KEY to yours.\n');
  });

  it('without a service names its address and the variable', async () => {
    const url = `http://127.0.0.1:${String(await freePort())}`;
    const { code, out, err } = await start(['me'], { MILLWRIGHT_URL: url }).ended;
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain(`Millwright cannot be reached at ${url} (ECONNREFUSED)`);
    expect(err).toContain('MILLWRIGHT_URL');
  });

  it.each([
    [200, '<html>'],
    [302, ''],
    [502, '{"message":"bad gateway"}'],
  ])('of another service, %i %s, is none of the API', async (status, body) => {
    const stranger = createServer((_request, response) => {
      response.writeHead(status, { Location: server.url }).end(body);
    }).listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    const url = `http://127.0.0.1:${String((stranger.address() as AddressInfo).port)}`;
    const { code, out, err } = await start(['me'], { MILLWRIGHT_URL: url }).ended;
    stranger.close();
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(`answers ${String(status)}, and not as Millwright does`);
  });
});

it("the caller's key was in none of all that was printed", () => {
  expect(printed.length).toBeGreaterThan(50);
  expect(printed.join('')).not.toContain(ADMIN_KEY);
});
