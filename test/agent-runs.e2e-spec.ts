import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cliCalls, installFakeAgentClis } from './support/fake-agent-clis.js';
import { ServiceProcess } from './support/service-process.js';
import { ADMIN_KEY } from './support/test-app.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const KEY = 'team-claude-key-4711';

let home: string;
let database: TestDatabase;
let service: ServiceProcess;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'millwright-agents-'));
  database = await createTestDatabase();
  service = await ServiceProcess.start({
    PATH: `${await installFakeAgentClis(home)}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    DATABASE_URL: database.url,
    DATA_DIR: join(home, 'data'),
  });
});
afterAll(async () => {
  await service.stop('SIGKILL');
  await database.drop();
  await rm(home, { recursive: true, force: true });
});

const made = async (path: string, body: object): Promise<Record<string, string>> => {
  const answer = await service.call('POST', `/v1${path}`, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as Record<string, string>;
};

describe('a run of an agent CLI, through the service', () => {
  let runId: string;

  beforeAll(async () => {
    await made('/secrets', { name: 'TEAM_CLAUDE', value: KEY, team: true });
    const { uid } = await made('/agent/identities', {
      name: 'Builder',
      harness_auth_secrets: { claude_auth_secret_name: 'TEAM_CLAUDE' },
    });
    const environment = await made('/agent/environments', {
      name: 'With settings',
      setup_commands: ['echo {} > "$CLAUDE_CONFIG_DIR/settings.json"'],
    });
    const run = await made('/agent/runs', {
      prompt: 'say hi',
      agent_identity_uid: uid,
      config: { harness: { type: 'claude' }, environment_id: environment.uid },
    });
    runId = run.run_id ?? '';
    await service.reaches(runId, ['SUCCEEDED', 'FAILED', 'ERROR']);
  });

  it('succeeds with what the agent said, and what that has cost', async () => {
    expect(await service.run(runId)).toMatchObject({
      state: 'SUCCEEDED',
      status_message: { message: 'All done: fake-ok' },
      request_usage: { total_tokens: 42, inference_cost_usd: 0.000456 },
    });
  });

  it('gives the agent its credential under the name that it knows, and shows it nowhere', async () => {
    const [call] = await cliCalls(home);
    expect(call?.environment).toMatchObject({ ANTHROPIC_API_KEY: KEY, TEAM_CLAUDE: KEY });
    const shown = [JSON.stringify(call?.args), service.output, await transcript()].join('\n');
    expect(shown).toContain('millwright.turn_started');
    expect(shown).not.toContain(KEY);
  });

  it('has a conversation in the normal form', async () => {
    expect(await steps()).toMatchObject([
      {
        description: 'say hi',
        summary: 'All done: fake-ok',
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'say hi' }] },
          { role: 'assistant', content: [{ type: 'text' }, { type: 'action', name: 'run_command' }] },
          { role: 'tool', content: [{ type: 'action_result', output: { output: 'fake-ok' } }] },
          { role: 'assistant', content: [{ type: 'text', text: 'All done: fake-ok' }] },
          { role: 'system', content: [{ type: 'event', name: 'turn_completed' }] },
        ],
      },
    ]);
  });

  it('goes on with its session when somebody follows up', async () => {
    await made(`/agent/runs/${runId}/followups`, { message: 'and again' });
    await service.reaches(runId, ['SUCCEEDED', 'FAILED', 'ERROR']);

    const [before, after] = await cliCalls(home);
    expect(after).toMatchObject({ prompt: 'and again' });
    expect(after?.earlier).toContain('"prompt":"say hi"');
    expect(after?.cwd).not.toBe(before?.cwd);
    expect(await steps()).toMatchObject([{ description: 'say hi' }, { description: 'and again' }]);
    // The recorded turns tell the same cost of the session, of which the second has had nothing.
    expect(await service.run(runId)).toMatchObject({
      request_usage: { total_tokens: 84, inference_cost_usd: 0.000456 },
    });
  });

  it('has the pull request that the agent made among its artifacts', async () => {
    const run = await made('/agent/runs', {
      prompt: 'fake:pull-request',
      config: { harness: { type: 'codex' } },
    });
    const ended = await service.reaches(run.run_id ?? '', ['SUCCEEDED', 'FAILED', 'ERROR']);
    expect(ended).toMatchObject({
      state: 'SUCCEEDED',
      artifacts: [
        {
          artifact_type: 'PULL_REQUEST',
          data: { url: 'https://github.example/acme/shop/pull/7', branch: 'fix-checkout' },
        },
      ],
    });
  });

  const steps = async (): Promise<unknown> => {
    const { body } = await service.call('GET', `/v1/agent/runs/${runId}/conversation`);
    return (body as { steps: unknown }).steps;
  };
  const transcript = async (): Promise<string> => {
    const headers = { Authorization: `Bearer ${ADMIN_KEY}` };
    return (await fetch(`${service.url}/v1/agent/runs/${runId}/transcript`, { headers })).text();
  };
});
