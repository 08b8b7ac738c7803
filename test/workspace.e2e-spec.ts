import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { GitRepositories } from './support/git-repositories.js';
import { ServiceProcess } from './support/service-process.js';
import { ADMIN_KEY, type Answer, call, eventually } from './support/test-app.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const TOKEN = 'git-token-value-4711';
const PAYLOAD = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0xc3, 0xa9, 0x7d, 0x0a, 0x00, 0xff]);

let git: GitRepositories;
let directory: string;
let database: TestDatabase;
let service: ServiceProcess;

const request = (method: string, path: string, body?: unknown): Promise<Answer> =>
  call(`${service.url}/v1${path}`, method, body, { Authorization: `Bearer ${ADMIN_KEY}` });

const made = async (path: string, body: unknown): Promise<Record<string, string>> => {
  const answer = await request('POST', path, body);
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body as Record<string, string>;
};

interface Run {
  state: string;
  status_message: { message: string; error_code?: string };
}

/** What the run's agent writes to `$OUT`, once the run has ended. */
const execute = async (
  script: string,
  body: object,
): Promise<{ runId: string; run: Run; written: Buffer | undefined }> => {
  const out = join(directory, `out-${Math.random().toString(36).slice(2)}`);
  const prompt = `\`\`\`bash\nset -e\nOUT=${out}\n${script}\n\`\`\``;
  const { run_id: runId = '' } = await made('/agent/runs', { prompt, ...body });
  const run = await eventually(
    async () => {
      const read = (await request('GET', `/agent/runs/${runId}`)).body as Run;
      return ['SUCCEEDED', 'FAILED', 'ERROR'].includes(read.state) ? read : undefined;
    },
    { withinMs: 30_000, what: 'the end of the run' },
  );
  return { runId, run, written: await readFile(out).catch(() => undefined) };
};

const environmentOf = async (config: object): Promise<{ config: { environment_id: string } }> => {
  const { uid = '' } = await made('/agent/environments', { name: 'An environment', ...config });
  return { config: { environment_id: uid } };
};

const startService = async (environment: Record<string, string>): Promise<void> => {
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    DATA_DIR: join(directory, 'data'),
    ...environment,
  });
};

beforeAll(async () => {
  git = await GitRepositories.create();
  await git.commit('acme/shop', { 'README.md': 'first\n' });
  await git.commit('acme/shop', { 'README.md': 'The shop\n' });
  await git.commit('other/shop', { 'README.md': 'Another shop\n' });
  await git.commit('acme/tools', { bin: '#!/bin/sh\n' });
  directory = await mkdtemp(join(tmpdir(), 'millwright-workspace-'));
  database = await createTestDatabase();
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
  await database.drop();
  await git.remove();
});

describe('the workspace of a run', () => {
  beforeAll(() => startService({ GIT_BASE_URL: git.baseUrl }));
  afterAll(() => service.stop());

  it('holds shallow clones of the repositories of its environment', async () => {
    const environment = await environmentOf({
      github_repos: [
        { owner: 'acme', repo: 'shop' },
        { owner: 'acme', repo: 'tools' },
        { owner: 'other', repo: 'shop' },
      ],
    });
    const { run, written } = await execute(
      'cat shop/README.md other-shop/README.md > "$OUT"; ls tools >> "$OUT"; git -C shop rev-list --count HEAD >> "$OUT"',
      environment,
    );
    expect(run).toMatchObject({ state: 'SUCCEEDED' });
    expect(String(written)).toBe('The shop\nAnother shop\nbin\n1\n');
  });

  it('has been through the set-up commands, in order and in one directory', async () => {
    const environment = await environmentOf({
      setup_commands: ['echo one > made', 'cat made > made-too; echo two >> made-too'],
    });
    const { runId, run, written } = await execute('cat made-too > "$OUT"', environment);
    expect(run).toMatchObject({ state: 'SUCCEEDED' });
    expect(String(written)).toBe('one\ntwo\n');
    const { events } = (await request('GET', `/agent/runs/${runId}/timeline`)).body as {
      events: { event_type: string; payload?: { is_error?: boolean } }[];
    };
    expect(events).toContainEqual(
      expect.objectContaining({
        event_type: 'setup_environment_setup_commands',
        payload: expect.objectContaining({ is_error: false }),
      }),
    );
  });

  it('holds the files that the run was created with, byte for byte', async () => {
    const file = (name: string, data: Buffer) => ({
      file_name: name,
      mime_type: 'application/octet-stream',
      data: data.toString('base64'),
    });
    const { run, written } = await execute(
      'cd "$MILLWRIGHT_ATTACHMENTS_DIR"; cat event-payload.json event-payload-2.json > "$OUT"',
      {
        attachments: [file('event-payload.json', PAYLOAD), file('event-payload.json', Buffer.from('second'))],
      },
    );
    expect(run).toMatchObject({ state: 'SUCCEEDED' });
    expect(written).toEqual(Buffer.concat([PAYLOAD, Buffer.from('second')]));
  });

  it('gives the files that its agent declares as artifacts of the run, secrets masked and links left out', async () => {
    const { runId, run } = await execute(
      [
        'cd "$MILLWRIGHT_ARTIFACTS_DIR"; mkdir reports',
        'printf "<h1>Done</h1>" > reports/coverage.html; printf "\\000\\377" > data.bin; ln -s /etc/passwd link',
      ].join('\n'),
      {},
    );
    expect(run).toMatchObject({ state: 'SUCCEEDED' });
    const { artifacts } = (await request('GET', `/agent/runs/${runId}`)).body as {
      artifacts: {
        artifact_type: string;
        data: { artifact_uid: string; filepath: string; mime_type: string };
      }[];
    };
    expect(
      artifacts.map(({ artifact_type: type, data }) => [type, data.filepath, data.mime_type]).sort(),
    ).toEqual([
      ['FILE', 'data.bin', 'application/octet-stream'],
      ['FILE', 'reports/coverage.html', 'text/html'],
    ]);
    const { artifact_uid: uid } = artifacts.find(({ data }) => data.filepath === 'data.bin')!.data;
    const answer = await fetch(`${service.url}/v1/agent/artifacts/${uid}/download`, {
      headers: { Authorization: `Bearer ${ADMIN_KEY}` },
    });
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from([0, 0xff]));
  });

  it('fails as environment_setup_failed with the command and the end of its output', async () => {
    const environment = await environmentOf({
      setup_commands: ['true', 'seq 1 5000; echo "no such package" >&2; exit 7', 'touch never'],
    });
    const { run, written } = await execute('touch "$OUT"', environment);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed' },
    });
    expect(run.status_message.message).toMatch(
      /^Set-up command 2 of 3 failed: seq 1 5000; .*\nexit code 7\n[^]*\n5000\nno such package$/,
    );
    expect(run.status_message.message.length).toBeLessThan(3000);
    expect(written).toBeUndefined();
  });

  it('is kept for debugging where its environment asks for that: follow-ups are carried out in it until the time is over', async () => {
    const environment = await environmentOf({
      setup_commands: ['echo broken > note; exit 7'],
      failure_session_retention_minutes: 15,
    });
    const { runId, run } = await execute('true', environment);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed' },
    });
    const read = async () => (await request('GET', `/agent/runs/${runId}`)).body as Record<string, unknown>;
    await eventually(async () => ((await read()).debug_agent_available === true ? true : undefined));
    const out = join(directory, 'debugged');
    const message = `\`\`\`bash\ncat note > ${out}\n\`\`\``;
    expect((await request('POST', `/agent/runs/${runId}/followups`, { message })).status).toBe(200);
    const written = await eventually(async () => {
      const text = await readFile(out, 'utf8').catch(() => '');
      return text === '' ? undefined : text;
    });
    expect(written).toBe('broken\n');
    expect(await read()).toMatchObject({
      state: 'FAILED',
      status_message: { ...run.status_message, debug_agent_active: true },
    });

    const client = new pg.Client(database.url);
    await client.connect();
    await client.query(`UPDATE run_executions SET session_retained_until = now() WHERE run_id = $1`, [runId]);
    await client.end();
    await eventually(async () => ((await read()).is_sandbox_running === false ? true : undefined));
    expect(await read()).toMatchObject({ state: 'FAILED', debug_agent_available: false });
  });

  it('fails as environment_setup_failed when a repository cannot be cloned', async () => {
    const environment = await environmentOf({ github_repos: [{ owner: 'acme', repo: 'gone' }] });
    const { run } = await execute('true', environment);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed' },
    });
    expect(run.status_message.message).toMatch(
      /^The repository acme\/gone could not be cloned: exit code 128/,
    );
  });
});

describe('a token for private repositories', () => {
  let host: Server;
  const authorizations: (string | undefined)[] = [];

  beforeAll(async () => {
    host = createServer((incoming, answer) => {
      authorizations.push(incoming.headers.authorization);
      answer.writeHead(403).end(`no: ${incoming.headers.authorization ?? ''}`);
    });
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    await startService({
      GIT_BASE_URL: `http://127.0.0.1:${String((host.address() as AddressInfo).port)}`,
      GIT_TOKEN_SECRET: 'REPOSITORY_TOKEN',
    });
    await made('/secrets', { name: 'REPOSITORY_TOKEN', value: TOKEN, team: true });
  });
  beforeEach(() => {
    authorizations.length = 0;
  });
  afterAll(async () => {
    await service.stop();
    await new Promise((resolve) => host.close(resolve));
  });

  it('goes to their host, and into no message', async () => {
    const environment = await environmentOf({ github_repos: [{ owner: 'acme', repo: 'private' }] });
    const { run } = await execute('true', environment);
    const basic = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
    expect(authorizations).toContain(`Basic ${basic}`);
    expect(run).toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed' },
    });
    expect(JSON.stringify(run)).not.toContain(TOKEN);
    expect(JSON.stringify(run)).not.toContain(basic);
  });

  it('is masked where a set-up command shows it', async () => {
    const environment = await environmentOf({ setup_commands: ['git config --get-regexp http; exit 1'] });
    const { run } = await execute('true', environment);
    expect(run.status_message.message).toContain('Authorization: Basic ***');
  });
});
