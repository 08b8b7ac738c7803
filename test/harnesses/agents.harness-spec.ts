import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceProcess } from '../support/service-process.js';
import { ADMIN_KEY } from '../support/test-app.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { startFakeModelServer } from './fake-model-server.mjs';

/** The directories of the real CLIs, for PATH: scripts/test-harnesses.mjs installs them. */
const CLIS = process.env.MILLWRIGHT_AGENT_CLIS ?? '';
const LIMIT_MS = 120_000;

let model: Awaited<ReturnType<typeof startFakeModelServer>>;
let database: TestDatabase;
let directory: string;
let service: ServiceProcess;

const AGENTS = [
  { type: 'claude', model: 'claude-sonnet-5-5' },
  { type: 'codex', model: undefined },
  { type: 'gemini', model: undefined },
] as const;

interface Run {
  run_id: string;
  state: string;
  status_message?: { message: string; error_code?: string };
  request_usage?: { total_tokens: number; inference_cost_usd?: number };
}

interface Block {
  type: string;
  text?: string;
  name?: string;
  state?: string;
  input?: { command?: string };
  output?: { output?: string };
}

const made = async (path: string, body: object): Promise<Record<string, string>> => {
  const answer = await service.call('POST', `/v1${path}`, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as Record<string, string>;
};

beforeAll(async () => {
  if (CLIS === '') throw new Error('Start these tests with npm run test:harnesses');
  model = await startFakeModelServer();
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'millwright-harnesses-'));
  service = await ServiceProcess.start({
    PATH: `${CLIS}:${process.env.PATH ?? ''}`,
    HOME: directory,
    DATABASE_URL: database.url,
    DATA_DIR: join(directory, 'data'),
    API_REQUESTS_PER_MINUTE: '0',
  });
});
afterAll(async () => {
  await service.stop('SIGKILL');
  await database.drop();
  await model.close();
  await rm(directory, { recursive: true, force: true });
});

describe.each(AGENTS)('the real $type', ({ type, model: modelId }) => {
  let agentUid: string;
  let environmentUid: string;
  let first: string;
  const file = (name: string): string => join(directory, `${type}-${name}`);

  /** What points an agent at the fake model: its secrets, and for codex a file that the environment makes. */
  beforeAll(async () => {
    const secrets: Record<string, Record<string, string>> = {
      claude: { CLAUDE_KEY: 'fake-claude-key', ANTHROPIC_BASE_URL: model.url },
      codex: { FAKE_KEY: 'fake-codex-key' },
      gemini: { GEMINI_API_KEY: 'fake-gemini-key', GOOGLE_GEMINI_BASE_URL: model.url },
    };
    const names = Object.keys(secrets[type] ?? {});
    for (const name of names) {
      await made('/secrets', { name, value: secrets[type]?.[name], team: true });
    }
    const agent = await made('/agent/identities', {
      name: `The ${type} agent`,
      secrets: names.map((name) => ({ name })),
      ...(type === 'claude' && { harness_auth_secrets: { claude_auth_secret_name: 'CLAUDE_KEY' } }),
    });
    agentUid = agent.uid ?? '';
    const provider = [
      'model = "fake-model"',
      'model_provider = "fake"',
      '[model_providers.fake]',
      'name = "fake"',
      `base_url = "${model.url}/v1"`,
      'env_key = "FAKE_KEY"',
      'wire_api = "responses"',
    ].join('\n');
    const environment = await made('/agent/environments', {
      name: `For ${type}`,
      setup_commands:
        type === 'codex' ? [`cat > "$CODEX_HOME/config.toml" <<'END'\n${provider}\nEND`] : ['true'],
    });
    environmentUid = environment.uid ?? '';
  });

  const start = async (prompt: string, more: object = {}): Promise<string> => {
    const config = {
      harness: { type, ...(modelId !== undefined && { model_id: modelId }) },
      environment_id: environmentUid,
    };
    const run = await made('/agent/runs', { prompt, agent_identity_uid: agentUid, config, ...more });
    return run.run_id ?? '';
  };
  const succeeded = async (id: string): Promise<Run> => {
    const run = (await service.reaches(id, ['SUCCEEDED', 'FAILED', 'ERROR'], LIMIT_MS)) as unknown as Run;
    if (run.state !== 'SUCCEEDED') throw new Error(JSON.stringify(run.status_message));
    return run;
  };
  const steps = async (id: string): Promise<{ description: string; messages: { content: Block[] }[] }[]> => {
    const { body } = await service.call('GET', `/v1/agent/runs/${id}/conversation`);
    return (body as { steps: Awaited<ReturnType<typeof steps>> }).steps;
  };

  it(
    'does what its model asks for, and reports the result, the conversation, the transcript and the usage',
    async () => {
      first = await start(`run: echo made-by-${type} > ${file('effect')}; echo shown | tr a-z A-Z`);
      const run = await succeeded(first);

      expect(await readFile(file('effect'), 'utf8')).toBe(`made-by-${type}\n`);
      expect(run.status_message?.message).toBe('All done');
      expect(run.request_usage?.total_tokens).toBeGreaterThanOrEqual(30);
      const [step] = await steps(first);
      expect(step?.description).toContain(`run: echo made-by-${type}`);
      const blocks = step?.messages.flatMap(({ content }) => content) ?? [];
      expect(blocks.find((block) => block.type === 'action')).toMatchObject({
        name: 'run_command',
        input: { command: expect.stringContaining(`made-by-${type}`) },
      });
      expect(blocks.find((block) => block.type === 'action_result')).toMatchObject({
        state: 'completed',
        output: { output: expect.stringContaining('SHOWN') },
      });
      expect(blocks).toContainEqual(expect.objectContaining({ type: 'text', text: 'All done' }));
      expect(blocks.filter(({ name }) => name === 'unknown')).toEqual([]);
      const transcript = await fetchTranscript(first);
      expect(transcript.split('\n').filter((line) => line !== '').length).toBeGreaterThan(5);
      expect(transcript).not.toContain(`fake-${type}-key`);
    },
    LIMIT_MS,
  );

  it(
    'goes on with its session in a follow-up, in another workspace',
    async () => {
      await made(`/agent/runs/${first}/followups`, {
        message: `run: echo again-by-${type} >> ${file('effect')}`,
      });
      await service.reaches(first, ['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS'], LIMIT_MS);
      await succeeded(first);

      expect(await readFile(file('effect'), 'utf8')).toBe(`made-by-${type}\nagain-by-${type}\n`);
      expect(await steps(first)).toHaveLength(2);
      // Had the session not gone on, the CLI would have begun another one.
      const ids = (await fetchTranscript(first)).matchAll(/"(?:session_id|thread_id)":\s*"([0-9a-f-]{36})"/g);
      expect(new Set([...ids].map(([, id]) => id)).size).toBe(1);
    },
    LIMIT_MS,
  );

  it(
    'has the MCP servers and the reasoning level of its run',
    async () => {
      const server = join(import.meta.dirname, 'mcp-server.mjs');
      const note = { command: process.execPath, args: [server, file('mcp')], env: { MARK: `for ${type}` } };
      const config = {
        harness: { type, reasoning_level: 'high', ...(modelId !== undefined && { model_id: modelId }) },
        environment_id: environmentUid,
        mcp_servers: { note },
      };
      const wait = `until [ -e ${file('mcp')} ]; do sleep 0.1; done`;
      await succeeded(await start(`run: ${wait}`, { config }));
      expect(await readFile(file('mcp'), 'utf8')).toBe(`tools/list for ${type}`);
    },
    LIMIT_MS,
  );

  it(
    'carries out what people say while it is at work',
    async () => {
      const wait = `touch ${file('busy')}; until [ -e ${file('go')} ]; do sleep 0.1; done`;
      const id = await start(`run: ${wait}`);
      const deadline = Date.now() + LIMIT_MS;
      while (!existsSync(file('busy')) && Date.now() < deadline) await sleep(50);
      await made(`/agent/runs/${id}/followups`, { message: `run: echo ${type} > ${file('heard')}` });
      // The claude harness hands it to the agent now; the others get it in a turn of its own.
      await sleep(1_000);
      await writeFile(file('go'), '');
      await succeeded(id);

      expect(await readFile(file('heard'), 'utf8')).toBe(`${type}\n`);
      expect(await steps(id)).toHaveLength(type === 'claude' ? 1 : 2);
    },
    LIMIT_MS,
  );

  it(
    'leaves no process behind when its run is cancelled',
    async () => {
      const id = await start(`run: echo started > ${file('started')}; sleep 654321`);
      const deadline = Date.now() + LIMIT_MS;
      while (!existsSync(file('started')) && Date.now() < deadline) await sleep(50);
      expect(processesOf(id).length).toBeGreaterThan(2);
      expect((await service.call('POST', `/v1/agent/runs/${id}/cancel`)).status).toBe(200);
      while ((await service.run(id)).is_sandbox_running && Date.now() < deadline) await sleep(50);

      expect(processesOf(id)).toEqual([]);
    },
    LIMIT_MS,
  );

  /** Living processes that were started for the run, wherever they went. */
  const processesOf = (runId: string): string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return (
          /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`OZ_RUN_ID=${runId}`)
        );
      } catch {
        return false;
      }
    });

  const fetchTranscript = async (id: string): Promise<string> => {
    const headers = { Authorization: `Bearer ${ADMIN_KEY}` };
    const answer = await fetch(`${service.url}/v1/agent/runs/${id}/transcript`, { headers });
    return answer.text();
  };
});
