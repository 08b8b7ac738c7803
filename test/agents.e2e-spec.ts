import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { AgentIdentities } from '../src/identities/index.js';
import { Database } from '../src/kernel/persistence/database.js';
import { firstTeam, insertTeam, insertUser, type TestUser } from './support/identities.js';
import { type Answer, eventually, startTestApp, type TestApp } from './support/test-app.js';

interface Agent {
  uid: string;
  name: string;
  available: boolean;
  created_at: string;
  updated_at: string;
}

const PATH = '/v1/agent/identities';
const ENVIRONMENT = '7cRkJ2wq0nUeXb5TzLsV1A';

/** Every field that can be set, with a value. */
const EVERYTHING = {
  name: 'Gardener',
  description: 'Waters',
  prompt: 'You water.',
  environment_id: ENVIRONMENT,
  base_model: 'script',
  base_harness: 'oz',
  harness: { type: 'claude', model_id: 'm', reasoning_level: 'high' },
  harness_auth_secrets: { claude_auth_secret_name: 'CLAUDE' },
  secrets: [{ name: 'ONE' }, { name: 'TWO' }],
  skills: ['acme/shop:skills/water/SKILL.md'],
  mcp_servers: { github: { command: 'npx', args: ['-y'], env: { A: 'b' } } },
  memory: {
    auto_memory: { enabled: true },
    attached_stores: [{ uid: 's', access: 'read_only', instructions: 'i' }],
  },
  default_runner_uid: 'large',
  inference_providers: { aws: { region: 'eu-central-1' } },
  credential_strategy: 'EXECUTOR',
  on_behalf_of_enabled: true,
  worker_host: 'build-box',
};

/** What is always there, of an agent of which only the name was set. */
const BARE = {
  uid: expect.any(String) as unknown,
  available: true,
  created_at: expect.any(String) as unknown,
  updated_at: expect.any(String) as unknown,
  secrets: [],
  skills: [],
  memory: { auto_memory: { enabled: false }, attached_stores: [] },
  default_runner_uid: '',
  description: null,
  prompt: null,
  on_behalf_of_enabled: false,
};

let server: TestApp;
let small: TestApp;
let team: string;
let user: TestUser;

beforeAll(async () => {
  server = await startTestApp({ API_REQUESTS_PER_MINUTE: '0' });
  small = await startTestApp({ API_REQUESTS_PER_MINUTE: '0', TEAM_MAX_AGENTS: '3' }, server);
});
afterAll(async () => {
  await small.close();
  await server.close();
});
beforeEach(async () => {
  team = await insertTeam(server.dataSource);
  user = await insertUser(server.dataSource, { teams: [team] });
});

const call = (
  method: string,
  path = '',
  body?: unknown,
  { app = server, as = user }: { app?: TestApp; as?: { headers: Record<string, string> } } = {},
): Promise<Answer> => app.call(method, PATH + path, body, as.headers);

async function create(body: object = {}, app = server): Promise<Agent> {
  const answer = await call('POST', '', { name: 'Gardener', ...body }, { app });
  expect(answer.status).toBe(201);
  return answer.body as Agent;
}

async function list(app = server): Promise<Agent[]> {
  return ((await call('GET', '', undefined, { app })).body as { agents: Agent[] }).agents;
}

const fieldsOf = ({ body }: Answer): string[] =>
  ((body as { errors?: { field: string }[] }).errors ?? []).map(({ field }) => field);

async function keyOf(agentUid: string): Promise<{ uid: string; headers: Record<string, string> }> {
  const made = await server.call('POST', '/v1/api-keys', { name: 'k', agent_uid: agentUid }, user.headers);
  const { uid, key } = made.body as { uid: string; key: string };
  return { uid, headers: { Authorization: `Bearer ${key}` } };
}

describe('an agent identity', () => {
  it('needs a name alone', async () => {
    const agent = await create();
    expect(agent).toEqual({ name: 'Gardener', ...BARE });
    expect((await call('GET', `/${agent.uid}`)).body).toEqual(agent);
  });

  it('keeps everything that can be set', async () => {
    const agent = await create(EVERYTHING);
    expect(agent).toEqual({ ...BARE, ...EVERYTHING });
    expect((await list()).map(({ name }) => name)).toEqual(['Default agent', 'Gardener']);
    expect((await list())[1]).toEqual(agent);
  });

  it('takes null for left out', async () => {
    const nulls = Object.fromEntries(Object.keys(EVERYTHING).map((field) => [field, null]));
    expect(await create({ ...nulls, name: 'Gardener', harness: { type: null } })).toEqual({
      name: 'Gardener',
      ...BARE,
    });
  });

  it('may share its name', async () => {
    await create();
    await create();
    expect(await list()).toHaveLength(3);
  });
});

describe('an update', () => {
  it('leaves what is left out or null', async () => {
    const agent = await create(EVERYTHING);
    const nulls = Object.fromEntries(Object.keys(EVERYTHING).map((field) => [field, null]));
    for (const body of [{}, nulls]) {
      const answer = await call('PUT', `/${agent.uid}`, body);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ ...agent, updated_at: expect.any(String) as unknown });
    }
    expect((await call('PUT', `/${agent.uid}`, { name: 'Cook' })).body).toMatchObject({
      ...EVERYTHING,
      name: 'Cook',
    });
  });

  it('clears what is empty', async () => {
    const agent = await create(EVERYTHING);
    const answer = await call('PUT', `/${agent.uid}`, {
      description: '',
      prompt: '',
      environment_id: '',
      base_model: '',
      base_harness: '',
      harness: {},
      harness_auth_secrets: {},
      secrets: [],
      skills: [],
      mcp_servers: {},
      memory: {},
      default_runner_uid: '',
      inference_providers: {},
      credential_strategy: '',
      on_behalf_of_enabled: false,
      worker_host: '',
    });
    expect(answer.body).toEqual({ name: 'Gardener', ...BARE });
  });

  it('replaces a value wholesale, and the time of the change', async () => {
    const agent = await create(EVERYTHING);
    const changes = {
      harness: { type: 'codex' },
      secrets: [{ name: 'THREE' }],
      mcp_servers: { web: { url: 'https://mcp.example.com/sse' } },
      memory: { attached_stores: [] },
    };
    const { body } = await call('PUT', `/${agent.uid}`, changes);
    expect(body).toEqual({
      ...agent,
      ...changes,
      memory: { auto_memory: { enabled: false }, attached_stores: [] },
      updated_at: expect.any(String) as unknown,
    });
    expect(Date.parse((body as Agent).updated_at)).toBeGreaterThan(Date.parse(agent.updated_at));
  });

  it('counts for the keys of the agent at once', async () => {
    const agent = await create();
    const key = await keyOf(agent.uid);
    await server.call('GET', '/v1/me', undefined, key.headers);
    await call('PUT', `/${agent.uid}`, { name: 'Cook' });
    expect((await server.call('GET', '/v1/me', undefined, key.headers)).body).toMatchObject({
      principal: { display_name: 'Cook' },
    });
  });
});

describe('a wrong field', () => {
  const WRONG: [object, string][] = [
    [{ name: '' }, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: 'x'.repeat(257) }, 'name'],
    [{ description: [] }, 'description'],
    [{ prompt: 'x'.repeat(100_001) }, 'prompt'],
    [{ prompt: 'a\0b' }, 'prompt'],
    [{ environment_id: 'short' }, 'environment_id'],
    [{ environment_id: `${ENVIRONMENT}x` }, 'environment_id'],
    [{ base_model: 1 }, 'base_model'],
    [{ base_harness: 'emacs' }, 'base_harness'],
    [{ harness: 'claude' }, 'harness'],
    [{ harness: { type: 'emacs' } }, 'harness.type'],
    [{ harness: { colour: 'red' } }, 'harness.colour'],
    [{ harness_auth_secrets: { other: 'x' } }, 'harness_auth_secrets.other'],
    [{ secrets: ['ONE'] }, 'secrets'],
    [{ secrets: [[]] }, 'secrets'],
    [{ secrets: [{ name: '' }] }, 'secrets.0.name'],
    [{ secrets: Array.from({ length: 101 }, () => ({ name: 'S' })) }, 'secrets'],
    [{ skills: 'one' }, 'skills'],
    [{ skills: [''] }, 'skills'],
    [{ mcp_servers: { gh: {} } }, 'mcp_servers'],
    [{ mcp_servers: { gh: { command: 'a', url: 'http://b' } } }, 'mcp_servers'],
    [{ memory: { auto_memory: { enabled: 'yes' } } }, 'memory.auto_memory.enabled'],
    [
      { memory: { attached_stores: [{ uid: 's', access: 'rw', instructions: '' }] } },
      'memory.attached_stores.0.access',
    ],
    [{ memory: { attached_stores: [[]] } }, 'memory.attached_stores'],
    [{ default_runner_uid: {} }, 'default_runner_uid'],
    [{ inference_providers: { aws: { disabled: 'no' } } }, 'inference_providers.aws.disabled'],
    [{ credential_strategy: 'MINE' }, 'credential_strategy'],
    [{ on_behalf_of_enabled: 1 }, 'on_behalf_of_enabled'],
    [{ worker_host: [] }, 'worker_host'],
    [{ available: true }, 'available'],
    [{ is_default: true }, 'is_default'],
  ];

  it.each(WRONG)('%j is a 400 that names %s, in both directions', async (body, field) => {
    const [first] = await list();
    for (const answer of [
      await call('POST', '', { name: 'Gardener', ...body }),
      await call('PUT', `/${first!.uid}`, body),
    ]) {
      expect(answer.status).toBe(400);
      expect(fieldsOf(answer)[0]).toBe(field);
    }
    expect(await list()).toEqual([first]);
  });

  it('is a missing name', async () => {
    expect(fieldsOf(await call('POST', '', {}))).toEqual(['name']);
  });
});

describe('the plan of a team', () => {
  it('makes the oldest agents available, however the limit came', async () => {
    for (const name of ['a', 'b', 'c']) await create({ name });
    expect((await list()).map(({ available }) => available)).toEqual([true, true, true, true]);
    const agents = await list(small);
    expect(agents.map(({ name, available }) => [name, available])).toEqual([
      ['Default agent', true],
      ['a', true],
      ['b', true],
      ['c', false],
    ]);
    const youngest = await call('GET', `/${agents[3]!.uid}`, undefined, { app: small });
    expect(youngest.body).toMatchObject({ available: false });
    const found = small.app.get(AgentIdentities).find(small.app.get(Database), team, agents[3]!.uid);
    expect(await found).toMatchObject({ available: false });
    // An older one goes: the next in age takes its place.
    expect((await call('DELETE', `/${agents[1]!.uid}`)).status).toBe(204);
    expect((await list(small)).map(({ available }) => available)).toEqual([true, true, true]);
  });

  it('is not exceeded, also not by creations at the same time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => call('POST', '', { name: 'x' }, { app: small })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403, 403, 403]);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      error_code: 'budget_exceeded',
    });
    expect(await list()).toHaveLength(3);
  });

  it('without a limit still ends at a thousand', async () => {
    await server.dataSource.query(
      `INSERT INTO agents (uid, team_uid, name) SELECT gen_random_uuid(), $1, 'filler' FROM generate_series(1, 999)`,
      [team],
    );
    expect((await call('POST', '', { name: 'x' })).body).toMatchObject({
      status: 403,
      error_code: 'budget_exceeded',
    });
    expect((await list()).every(({ available }) => available)).toBe(true);
  });
});

describe('a deletion', () => {
  it('takes all keys of the agent along, and no other', async () => {
    const [agent, other] = [await create(), await create()];
    const keys = [await keyOf(agent.uid), await keyOf(agent.uid)];
    const kept = await keyOf(other.uid);
    for (const key of keys)
      expect((await server.call('GET', '/v1/me', undefined, key.headers)).status).toBe(200);
    expect((await call('DELETE', `/${agent.uid}`)).status).toBe(204);
    for (const key of keys)
      expect((await server.call('GET', '/v1/me', undefined, key.headers)).status).toBe(401);
    expect((await server.call('GET', '/v1/me', undefined, kept.headers)).status).toBe(200);
    expect(await server.dataSource.query('SELECT 1 FROM api_keys WHERE agent_uid = $1', [agent.uid])).toEqual(
      [],
    );
    expect((await call('GET', `/${agent.uid}`)).status).toBe(404);
    expect((await call('DELETE', `/${agent.uid}`)).status).toBe(404);
  });

  it('under way lets nobody make a key of the agent', async () => {
    const agent = await create();
    const deletion = server.dataSource.createQueryRunner();
    await deletion.startTransaction();
    await deletion.query('DELETE FROM agents WHERE uid = $1', [agent.uid]);
    const making = server.call('POST', '/v1/api-keys', { name: 'k', agent_uid: agent.uid }, user.headers);
    await eventually(
      async () => {
        const [waiting] = await server.dataSource.query<object[]>(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return waiting;
      },
      { what: 'the wait of the new key for the deletion' },
    );
    await deletion.commitTransaction();
    await deletion.release();
    const made = await making;
    expect(made.status).toBe(400);
    expect(fieldsOf(made)).toEqual(['agent_uid']);
  });

  it('is refused for the default agent', async () => {
    const [agent] = await list();
    expect((await call('DELETE', `/${agent!.uid}`)).body).toMatchObject({
      status: 400,
      error_code: 'invalid_request',
    });
    expect(await list()).toEqual([agent]);
  });
});

describe('an agent identity of another team', () => {
  it('is unknown', async () => {
    const agent = await create();
    const otherTeam = await insertTeam(server.dataSource);
    const stranger = await insertUser(server.dataSource, { teams: [otherTeam] });
    const both = await insertUser(server.dataSource, { teams: [team, otherTeam] });
    const elsewhere = { headers: { ...both.headers, 'X-Team-Uid': otherTeam } };
    for (const as of [stranger, elsewhere]) {
      expect((await call('GET', `/${agent.uid}`, undefined, { as })).status).toBe(404);
      expect((await call('PUT', `/${agent.uid}`, { name: 'x' }, { as })).status).toBe(404);
      expect((await call('DELETE', `/${agent.uid}`, undefined, { as })).status).toBe(404);
      const { agents } = (await call('GET', '', undefined, { as })).body as { agents: Agent[] };
      expect(agents.map(({ name }) => name)).toEqual(['Default agent']);
    }
    expect((await call('GET', `/${agent.uid}`)).body).toEqual(agent);
  });

  it.each([randomUUID(), 'nonsense'])('is like %s, which is nobody', async (uid) => {
    expect((await call('GET', `/${uid}`)).status).toBe(404);
    expect((await call('PUT', `/${uid}`, { name: 'x' })).status).toBe(404);
    expect((await call('DELETE', `/${uid}`)).status).toBe(404);
  });
});

describe('who is no person of a team', () => {
  it('an agent identity reads its team’s agents and changes none', async () => {
    const agent = await create();
    const as = await keyOf(agent.uid);
    expect((await call('GET', '', undefined, { as })).body).toEqual({ agents: await list() });
    expect((await call('GET', `/${agent.uid}`, undefined, { as })).status).toBe(200);
    expect((await call('POST', '', { name: 'x' }, { as })).status).toBe(403);
    expect((await call('PUT', `/${agent.uid}`, { name: 'x' }, { as })).status).toBe(403);
    expect((await call('DELETE', `/${agent.uid}`, undefined, { as })).status).toBe(403);
  });

  it('somebody without a team has no agents', async () => {
    const as = await insertUser(server.dataSource, { teams: [] });
    expect((await call('GET', '', undefined, { as })).status).toBe(403);
    expect((await call('POST', '', { name: 'x' }, { as })).status).toBe(403);
  });
});

describe('AgentIdentities', () => {
  const find = (teamUid: string, agentUid?: string) =>
    server.app.get(AgentIdentities).find(server.app.get(Database), teamUid, agentUid);

  it('has what it takes to execute as the agent', async () => {
    const agent = await create(EVERYTHING);
    expect(await find(team, agent.uid)).toEqual({
      uid: agent.uid,
      available: true,
      prompt: 'You water.',
      environmentId: ENVIRONMENT,
      baseModel: 'script',
      harness: EVERYTHING.harness,
      harnessAuthSecrets: EVERYTHING.harness_auth_secrets,
      secrets: ['ONE', 'TWO'],
      skills: EVERYTHING.skills,
      mcpServers: EVERYTHING.mcp_servers,
      workerHost: 'build-box',
      inferenceProviders: EVERYTHING.inference_providers,
      credentialStrategy: 'EXECUTOR',
      onBehalfOfEnabled: true,
    });
  });

  it('takes the base harness where there is no harness', async () => {
    const agent = await create({ base_harness: 'codex' });
    expect(await find(team, agent.uid)).toMatchObject({ harness: { type: 'codex' } });
  });

  it('takes the default agent when none is named, and none of another team', async () => {
    const [byDefault] = await list();
    expect(await find(team)).toMatchObject({ uid: byDefault!.uid, available: true, secrets: [] });
    const first = await firstTeam(server.dataSource);
    expect(await find(first)).toMatchObject({ available: true });
    expect(await find(first, byDefault!.uid)).toBeUndefined();
  });
});
