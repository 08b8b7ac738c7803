import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GitRepositories } from './support/git-repositories.js';
import { insertTeam, insertUser, type TestUser } from './support/identities.js';
import { SimulatedWorker } from './support/simulated-worker.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let git: GitRepositories;
let worker: SimulatedWorker;
let team: string;
let member: TestUser;

const asMember = (method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(method, `/v1${path}`, body, member.headers);

const made = async (path: string, body: unknown): Promise<Record<string, string>> => {
  const answer = await asMember('POST', path, body);
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body as Record<string, string>;
};

/** A run and what is stored of it. */
const start = async (request: object): Promise<Record<string, unknown>> => {
  const { run_id } = await made('/agent/runs', request);
  return (await asMember('GET', `/agent/runs/${run_id ?? ''}`)).body as Record<string, unknown>;
};

/** Starts a run and reads what its runner is told. */
const execute = async (request: object): Promise<Record<string, unknown>> => {
  const { run_id } = await made('/agent/runs', request);
  let assignment = await worker.nextAssignment();
  while (assignment.task_id !== run_id) assignment = await worker.nextAssignment();
  worker.claim(assignment);
  const { body } = await server.call('GET', '/v1/harness-support/execution', undefined, {
    Authorization: `Bearer ${assignment.env_vars.WARP_API_KEY ?? ''}`,
  });
  worker.complete(assignment);
  return body as Record<string, unknown>;
};

const SKILL = ['---', 'name: release', 'description: Releases the shop.', '---', 'Cut a release.'].join('\n');

beforeAll(async () => {
  git = await GitRepositories.create();
  await git.commit('acme/shop', { 'skills/release/SKILL.md': SKILL });
  server = await startTestApp({ GIT_BASE_URL: git.baseUrl, TEAM_MAX_AGENTS: '4' });
  team = await insertTeam(server.dataSource);
  member = await insertUser(server.dataSource, { teams: [team], role: 'admin' });
  worker = await SimulatedWorker.connect(server, { slots: 100 });
});
afterAll(async () => {
  await server.close();
  await git.remove();
});

describe('a run that is executed as an agent identity', () => {
  let environment: Record<string, string>;
  let agent: Record<string, string>;

  beforeAll(async () => {
    environment = await made('/agent/environments', {
      name: 'Shop',
      github_repos: [{ owner: 'acme', repo: 'shop' }],
    });
    await made('/secrets', { name: 'DEPLOY_TOKEN', value: 'deploy-token-value', team: true });
    await made('/secrets', { name: 'OTHER_TOKEN', value: 'other-token-value', team: true });
    agent = await made('/agent/identities', {
      name: 'Releaser',
      prompt: 'You release the shop.',
      environment_id: environment.uid,
      base_model: 'script',
      secrets: [{ name: 'DEPLOY_TOKEN' }],
      mcp_servers: { tracker: { url: 'https://mcp.example' } },
    });
  });

  it('takes from it what the request leaves open, and stores that with the run', async () => {
    const run = await start({ prompt: 'Go', agent_identity_uid: agent.uid, config: { name: 'mine' } });
    expect(run.agent_config).toEqual({
      name: 'mine',
      base_prompt: 'You release the shop.',
      environment_id: environment.uid,
      model_id: 'script',
      harness: { type: 'oz' },
      mcp_servers: { tracker: { url: 'https://mcp.example' } },
    });
    expect(run.creator).toMatchObject({ type: 'user', uid: member.uid });
    expect(run.executor).toEqual({ type: 'service_account', uid: agent.uid, display_name: 'Releaser' });
  });

  it('lets the request decide each field before it', async () => {
    const run = await start({
      prompt: 'Go',
      agent_identity_uid: agent.uid,
      config: {
        base_prompt: 'Mine.',
        mcp_servers: {},
        harness: { type: 'claude' },
        model_id: 'claude-opus-5-5',
      },
    });
    expect(run.agent_config).toMatchObject({
      base_prompt: 'Mine.',
      mcp_servers: {},
      harness: { type: 'claude' },
      model_id: 'claude-opus-5-5',
      environment_id: environment.uid,
    });
  });

  it('gets the secrets that the agent was granted, and no other', async () => {
    expect(await execute({ prompt: 'Go', agent_identity_uid: agent.uid })).toMatchObject({
      secrets: { DEPLOY_TOKEN: 'deploy-token-value' },
      missing_secrets: [],
    });
  });

  it('gets none when a person executes it, whatever its configuration names', async () => {
    const config = { harness_auth_secrets: { claude_auth_secret_name: 'OTHER_TOKEN' } };
    expect(await execute({ prompt: 'Go', config })).toMatchObject({ secrets: {}, missing_secrets: [] });
  });

  it('is told of a granted secret that does not exist', async () => {
    const other = await made('/agent/identities', { name: 'Forgetful', secrets: [{ name: 'GONE' }] });
    expect(await execute({ prompt: 'Go', agent_identity_uid: other.uid })).toMatchObject({
      secrets: {},
      missing_secrets: ['GONE'],
    });
  });

  it('is refused as 403 feature_not_available when the agent is beyond the plan', async () => {
    await made('/agent/identities', { name: 'Fourth' });
    expect(await asMember('POST', '/agent/identities', { name: 'Fifth' })).toMatchObject({ status: 403 });
    // As after a plan was lowered.
    await server.dataSource.query(
      `INSERT INTO agents (uid, team_uid, name) VALUES ('019c3f0e-0000-7000-8000-00000000000f', $1, 'Late')`,
      [team],
    );
    const answer = await asMember('POST', '/agent/runs', {
      prompt: 'Go',
      agent_identity_uid: '019c3f0e-0000-7000-8000-00000000000f',
    });
    expect(answer).toMatchObject({ status: 403, body: { error_code: 'feature_not_available' } });
  });

  it.each([
    ['agent_identity_uid', { agent_identity_uid: '019c3f0e-0000-7000-8000-0000000000ff' }],
    ['config.environment_id', { config: { environment_id: 'A'.repeat(22) } }],
    ['config.model_id', { config: { model_id: 'gpt-0' } }],
    ['config.model_id', { config: { model_id: 'claude-opus-5-5' } }],
    ['skill', { skill: 'no-such-skill' }],
    ['prompt', { prompt: undefined }],
    ['config.worker_host', { team: false, config: { worker_host: 'machine' } }],
  ])('is refused with a 400 that names %s', async (field, request) => {
    const answer = await asMember('POST', '/agent/runs', { prompt: 'Go', ...request });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  });

  it('is refused when a person is to own it', async () => {
    const answer = await asMember('POST', '/agent/runs', {
      prompt: 'Go',
      team: false,
      agent_identity_uid: agent.uid,
    });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'agent_identity_uid' }] } });
  });

  it.each(['acme/shop:skills/release/SKILL.md', 'acme/shop:release', 'shop:release', 'release'])(
    'carries out the skill %s, whose instructions join its base prompt',
    async (skill) => {
      const run = await start({ skill, agent_identity_uid: agent.uid });
      expect(run).toMatchObject({
        title: 'release',
        prompt: '',
        agent_config: {
          skill_spec: 'acme/shop:skills/release/SKILL.md',
          base_prompt: 'You release the shop.\n\nCut a release.',
        },
        agent_skill: {
          name: 'release',
          description: 'Releases the shop.',
          full_path: 'skills/release/SKILL.md',
        },
      });
      const { body } = await asMember('GET', '/agent?sort_by=last_run');
      expect(JSON.stringify(body)).toContain('last_run_timestamp');
    },
  );

  it('is the last run of its environment', async () => {
    const run = await start({ prompt: 'Go', config: { environment_id: environment.uid } });
    const { body } = await asMember('GET', '/agent/environments');
    expect(body).toMatchObject({
      environments: [{ uid: environment.uid, setup_failed: false, last_task_created: { id: run.run_id } }],
    });
  });
});

describe('an agent identity that calls by itself', () => {
  const keyOf = async (agentUid: string | undefined): Promise<Record<string, string>> => {
    const { key } = await made('/api-keys', { name: 'ci', agent_uid: agentUid });
    return { Authorization: `Bearer ${key ?? ''}` };
  };

  it('starts runs of its team, executed as itself', async () => {
    const [agent] = await server.dataSource.query<{ uid: string }[]>(
      'SELECT uid FROM agents WHERE team_uid = $1 AND is_default',
      [team],
    );
    const headers = await keyOf(agent?.uid);
    const created = await server.call('POST', '/v1/agent/runs', { prompt: 'Go' }, headers);
    expect(created.status).toBe(200);
    const { run_id } = created.body as { run_id: string };
    expect((await asMember('GET', `/agent/runs/${run_id}`)).body).toMatchObject({
      creator: { type: 'service_account', uid: agent?.uid },
      executor: { type: 'service_account', uid: agent?.uid },
      scope: { type: 'Team', uid: team },
    });
    expect(
      await server.call('POST', '/v1/agent/runs', { prompt: 'Go', on_behalf_of: member.uid }, headers),
    ).toMatchObject({ status: 403, body: { error_code: 'not_authorized' } });
  });

  it('starts runs on behalf of members where that is enabled, and they are the creators', async () => {
    const [agent] = await server.dataSource
      .query<{ uid: string }[]>(
        `UPDATE agents SET on_behalf_of_enabled = true WHERE team_uid = $1 AND is_default RETURNING uid`,
        [team],
      )
      .then((result) => result[0] as unknown as { uid: string }[]);
    const headers = await keyOf(agent?.uid);
    const start = (onBehalfOf: string): Promise<Answer> =>
      server.call('POST', '/v1/agent/runs', { prompt: 'Go', on_behalf_of: onBehalfOf }, headers);
    const { run_id } = (await start(member.uid)).body as { run_id: string };
    expect((await asMember('GET', `/agent/runs/${run_id}`)).body).toMatchObject({
      creator: { type: 'user', uid: member.uid },
      executor: { type: 'service_account', uid: agent?.uid },
    });
    const stranger = await insertUser(server.dataSource, { teams: [] });
    expect(await start(stranger.uid)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'on_behalf_of' }] },
    });
  });
});
