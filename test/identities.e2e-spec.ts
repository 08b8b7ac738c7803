import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { BootstrapInstallation, People, RunKeys } from '../src/identities/index.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { firstTeam, insertTeam, insertUser, type TestUser } from './support/identities.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;

beforeAll(async () => {
  server = await startTestApp({ API_REQUESTS_PER_MINUTE: '0' });
});
afterAll(async () => {
  await server.close();
});

interface ApiKey {
  uid: string;
  name: string;
  prefix: string;
  last_four: string;
  owner: { type: string; uid: string };
  team_uid?: string;
  operator?: boolean;
  created_at: string;
  expires_at?: string;
  last_used_at?: string;
  key?: string;
}

interface Member {
  user: { uid: string };
  role: string;
  permissions: string[];
}

type Headers = Record<string, string>;

const call = (user: { headers: Headers }, method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(method, `/v1/${path}`, body, user.headers);

const bearer = (key: string): { headers: Headers } => ({ headers: { Authorization: `Bearer ${key}` } });

const inTeam = (user: TestUser, team: string): { headers: Headers } => ({
  headers: { ...user.headers, 'X-Team-Uid': team },
});

const fieldsOf = ({ body }: Answer): string[] =>
  ((body as { errors?: { field: string }[] }).errors ?? []).map(({ field }) => field);

async function makeKey(user: { headers: Headers }, body: object = {}): Promise<Required<ApiKey>> {
  const answer = await call(user, 'POST', 'api-keys', { name: 'a key', ...body });
  expect(answer.status).toBe(201);
  return answer.body as Required<ApiKey>;
}

async function keysOf(user: { headers: Headers }): Promise<ApiKey[]> {
  return ((await call(user, 'GET', 'api-keys')).body as { api_keys: ApiKey[] }).api_keys;
}

async function newMember(role: 'admin' | 'member' = 'member'): Promise<TestUser & { team: string }> {
  const team = await insertTeam(server.dataSource, 'Web shop');
  return { ...(await insertUser(server.dataSource, { teams: [team], role, name: 'Ada' })), team };
}

async function newAgent(user: { headers: Headers }): Promise<string> {
  return ((await call(user, 'POST', 'agent/identities', { name: 'Gardener' })).body as { uid: string }).uid;
}

/** Fills a table to one row below its limit. */
const fill = (sql: string, parameters: unknown[]): Promise<unknown> =>
  server.dataSource.query(sql, parameters);

describe('GET /me', () => {
  it('tells a person who they are, their teams, and the only one as the active one', async () => {
    const ada = await newMember('admin');
    expect((await call(ada, 'GET', 'me')).body).toEqual({
      principal: { type: 'user', uid: ada.uid, display_name: 'Ada' },
      teams: [{ uid: ada.team, name: 'Web shop', role: 'admin', permissions: [] }],
      active_team_uid: ada.team,
    });
  });

  it('has no active team among several unless the header names one', async () => {
    const teams = [await insertTeam(server.dataSource), await insertTeam(server.dataSource)];
    const user = await insertUser(server.dataSource, { teams });
    const unnamed = (await call(user, 'GET', 'me')).body as { teams: unknown[] };
    expect(unnamed.teams).toHaveLength(2);
    expect(unnamed).not.toHaveProperty('active_team_uid');
    expect((await call(inTeam(user, teams[1]!), 'GET', 'me')).body).toMatchObject({
      active_team_uid: teams[1],
    });
  });

  it('tells an agent identity its team', async () => {
    const ada = await newMember();
    const agentUid = await newAgent(ada);
    const { key } = await makeKey(ada, { agent_uid: agentUid });
    expect((await call(bearer(key), 'GET', 'me')).body).toEqual({
      principal: { type: 'service_account', uid: agentUid, display_name: 'Gardener' },
      teams: [{ uid: ada.team, name: 'Web shop', role: 'member', permissions: [] }],
      active_team_uid: ada.team,
    });
  });
});

describe('an API key', () => {
  it('is shown once, works, and is listed without the key', async () => {
    const ada = await newMember();
    const expiry = new Date(Date.now() + 3_600_000).toISOString();
    const made = await makeKey(ada, { name: 'CI', expires_at: expiry });
    expect(made).toEqual({
      uid: expect.any(String) as unknown,
      name: 'CI',
      prefix: made.key.slice(0, 11),
      last_four: made.key.slice(-4),
      owner: { type: 'user', uid: ada.uid, display_name: 'Ada' },
      created_at: expect.any(String) as unknown,
      expires_at: expiry,
      key: made.key,
    });
    expect((await call(bearer(made.key), 'GET', 'me')).status).toBe(200);
    const listed = await call(ada, 'GET', 'api-keys');
    expect((await keysOf(ada)).map(({ name }) => name)).toEqual(['test', 'CI']);
    expect(JSON.stringify(listed.body)).not.toContain(made.key);
  });

  it('of an agent identity belongs to the team, and any member of it sees and revokes it', async () => {
    const ada = await newMember();
    const colleague = await insertUser(server.dataSource, { teams: [ada.team] });
    const agentUid = await newAgent(ada);
    const made = await makeKey(ada, { agent_uid: agentUid });
    expect(made).toMatchObject({
      owner: { type: 'service_account', uid: agentUid, display_name: 'Gardener' },
      team_uid: ada.team,
    });
    expect((await keysOf(colleague)).map(({ uid }) => uid)).toContain(made.uid);
    expect((await call(colleague, 'DELETE', `api-keys/${made.uid}`)).status).toBe(204);
    expect((await call(bearer(made.key), 'GET', 'me')).status).toBe(401);
  });

  it('bites no more as soon as it is revoked', async () => {
    const ada = await newMember();
    const made = await makeKey(ada);
    expect((await call(bearer(made.key), 'GET', 'me')).status).toBe(200);
    expect((await call(ada, 'DELETE', `api-keys/${made.uid}`)).status).toBe(204);
    expect((await call(bearer(made.key), 'GET', 'me')).status).toBe(401);
    expect((await call(ada, 'DELETE', `api-keys/${made.uid}`)).status).toBe(404);
  });

  it('stops to work when it expires', async () => {
    const ada = await newMember();
    const made = await makeKey(ada, { expires_at: new Date(Date.now() + 3_600_000).toISOString() });
    await server.dataSource.query(`UPDATE api_keys SET expires_at = now() - interval '1 ms' WHERE uid = $1`, [
      made.uid,
    ]);
    expect((await call(bearer(made.key), 'GET', 'me')).status).toBe(401);
  });

  it('of somebody else, of another team or of a run is unknown', async () => {
    const ada = await newMember();
    const colleague = await insertUser(server.dataSource, { teams: [ada.team] });
    const stranger = await newMember();
    const theirs = await makeKey(stranger, { agent_uid: await newAgent(stranger) });
    await server.app
      .get(Transactor)
      .run((tx) => server.app.get(RunKeys).issue(tx, [{ runId: randomUUID(), executionId: 1 }]));
    const [run] = await server.dataSource.query<{ uid: string }[]>(
      'SELECT uid FROM api_keys WHERE run_id IS NOT NULL',
    );
    const [other] = await keysOf(colleague);
    for (const uid of [theirs.uid, run!.uid, other!.uid, randomUUID(), 'nonsense']) {
      expect((await call(ada, 'DELETE', `api-keys/${uid}`)).status).toBe(404);
    }
    expect(await keysOf(ada)).toHaveLength(1);
    expect((await call(bearer(theirs.key), 'GET', 'me')).status).toBe(200);
  });

  it.each([
    [{}, 'name'],
    [{ name: '  ' }, 'name'],
    [{ name: 'k', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'k', expires_at: '2036-02-30T00:00:00Z' }, 'expires_at'],
    [{ name: 'k', expires_at: '2036-01-01' }, 'expires_at'],
    [{ name: 'k', expires_at: '2036-12-31T23:59:60Z' }, 'expires_at'],
    [{ name: 'k', expires_at: 7 }, 'expires_at'],
    [{ name: 'k', agent_uid: 'red' }, 'agent_uid'],
    [{ name: 'k', agent_uid: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' }, 'agent_uid'],
    [{ name: 'k', operator: 'yes' }, 'operator'],
    [{ name: 'k', operator: true, agent_uid: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' }, 'operator'],
    [{ name: 'k', key: 'wk-mine' }, 'key'],
  ])('%j is a 400 that names %s', async (body, field) => {
    const answer = await server.call('POST', '/v1/api-keys', body);
    expect(answer.status).toBe(400);
    expect(fieldsOf(answer)).toEqual([field]);
  });

  it("is not made for another team's agent", async () => {
    const [ada, stranger] = [await newMember(), await newMember()];
    const answer = await call(ada, 'POST', 'api-keys', { name: 'k', agent_uid: await newAgent(stranger) });
    expect(answer.status).toBe(400);
    expect(fieldsOf(answer)).toEqual(['agent_uid']);
  });

  it("of an operator comes from an operator's key alone", async () => {
    const ada = await newMember('admin');
    const operator = await insertUser(server.dataSource, { teams: [ada.team], operator: true });
    expect((await call(ada, 'POST', 'api-keys', { name: 'k', operator: true })).status).toBe(403);
    const made = await makeKey(operator, { operator: true });
    expect(made.operator).toBe(true);
    const ordinary = await makeKey(operator);
    expect(ordinary.operator).toBeUndefined();
    const user = { display_name: 'Grace' };
    expect((await call(bearer(made.key), 'POST', 'users', user)).status).toBe(201);
    expect((await call(bearer(ordinary.key), 'POST', 'users', user)).status).toBe(403);
  });

  it('is the thousandth at most, however many are made at a time', async () => {
    const ada = await newMember();
    const agentUid = await newAgent(ada);
    await fill(
      `INSERT INTO api_keys (uid, name, prefix, last_four, hash, user_uid)
       SELECT gen_random_uuid(), 'filler', 'x', 'x', 'x', $1 FROM generate_series(1, 997)`,
      [ada.uid],
    );
    await fill(
      `INSERT INTO api_keys (uid, name, prefix, last_four, hash, agent_uid)
       SELECT gen_random_uuid(), 'filler', 'x', 'x', 'x', $1 FROM generate_series(1, 998)`,
      [agentUid],
    );
    for (const owner of [{}, { agent_uid: agentUid }]) {
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => call(ada, 'POST', 'api-keys', { name: 'k', ...owner })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403]);
      const over = answers.find(({ status }) => status === 403);
      expect(over?.body).toMatchObject({ error_code: 'budget_exceeded' });
    }
    expect(await keysOf(ada)).toHaveLength(2000);
  });
});

describe('who may not manage API keys', () => {
  it('are agent identities', async () => {
    const ada = await newMember();
    const made = await makeKey(ada, { agent_uid: await newAgent(ada) });
    const agent = bearer(made.key);
    expect((await call(agent, 'POST', 'api-keys', { name: 'k' })).status).toBe(403);
    expect((await call(agent, 'GET', 'api-keys')).status).toBe(403);
    expect((await call(agent, 'DELETE', `api-keys/${made.uid}`)).status).toBe(403);
  });
});

describe('an operator', () => {
  it('makes a user, whose key is shown once', async () => {
    const email = `Grace.${randomUUID()}@example.com`;
    const made = await server.call('POST', '/v1/users', { display_name: 'Grace', email });
    expect(made.status).toBe(201);
    const user = made.body as { uid: string; api_key: string };
    expect(user).toEqual({
      uid: expect.any(String) as unknown,
      display_name: 'Grace',
      email,
      created_at: expect.any(String) as unknown,
      api_key: expect.stringMatching(/^wk-/) as unknown,
    });
    expect((await call(bearer(user.api_key), 'GET', 'me')).body).toEqual({
      principal: { type: 'user', uid: user.uid, display_name: 'Grace', email },
      teams: [],
    });
    const again = await server.call('POST', '/v1/users', { display_name: 'G', email: email.toUpperCase() });
    expect(again.body).toMatchObject({ status: 409, error_code: 'conflict' });
  });

  it('makes a team with a default agent and a first admin, who adds members', async () => {
    const grace = await insertUser(server.dataSource, { teams: [], name: 'Grace' });
    const made = await server.call('POST', '/v1/teams', { name: 'Rockets', admin_uid: grace.uid });
    expect(made.status).toBe(201);
    const team = made.body as { uid: string };
    expect(team).toEqual({
      uid: expect.any(String) as unknown,
      name: 'Rockets',
      created_at: expect.any(String) as unknown,
    });
    const { agents } = (await call(grace, 'GET', 'agent/identities')).body as { agents: object[] };
    expect(agents).toMatchObject([{ name: 'Default agent', available: true }]);
    const ada = await insertUser(server.dataSource, { teams: [] });
    const added = await call(grace, 'PUT', `teams/${team.uid}/members/${ada.uid}`, { role: 'member' });
    expect(added.status).toBe(200);
    expect((await call(ada, 'GET', 'me')).body).toMatchObject({ active_team_uid: team.uid });
  });

  it('is the first admin of a team for which they name none', async () => {
    const operator = await insertUser(server.dataSource, { teams: [], operator: true });
    const made = await call(operator, 'POST', 'teams', { name: 'Rockets' });
    const { uid } = made.body as { uid: string };
    expect((await call(operator, 'GET', `teams/${uid}/members`)).body).toMatchObject({
      members: [{ user: { uid: operator.uid }, role: 'admin' }],
    });
  });

  it.each([
    ['users', {}, 'display_name'],
    ['users', { display_name: ' ' }, 'display_name'],
    ['users', { display_name: 'G', email: 'red' }, 'email'],
    ['teams', { name: '' }, 'name'],
    ['teams', { name: 'T', admin_uid: 'red' }, 'admin_uid'],
    ['teams', { name: 'T', admin_uid: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' }, 'admin_uid'],
  ])('who posts to %s the body %j gets a 400 that names %s', async (path, body, field) => {
    const answer = await server.call('POST', `/v1/${path}`, body);
    expect(answer.status).toBe(400);
    expect(fieldsOf(answer)).toEqual([field]);
  });

  it('nobody else is', async () => {
    const admin = await newMember('admin');
    expect((await call(admin, 'POST', 'users', { display_name: 'G' })).status).toBe(403);
    expect((await call(admin, 'POST', 'teams', { name: 'T' })).status).toBe(403);
  });
});

describe('the members of a team', () => {
  const members = async (user: TestUser & { team: string }): Promise<Member[]> =>
    ((await call(user, 'GET', `teams/${user.team}/members`)).body as { members: Member[] }).members;

  it('are listed to each of them', async () => {
    const admin = await newMember('admin');
    const member = { ...(await insertUser(server.dataSource, { teams: [admin.team] })), team: admin.team };
    const listed = await members(member);
    expect(listed).toHaveLength(2);
    expect(listed.find(({ user }) => user.uid === admin.uid)).toEqual({
      user: { type: 'user', uid: admin.uid, display_name: 'Ada' },
      role: 'admin',
      permissions: [],
      created_at: expect.any(String) as unknown,
    });
  });

  it('are changed by an admin, which counts from their next request on', async () => {
    const admin = await newMember('admin');
    const member = await insertUser(server.dataSource, { teams: [admin.team] });
    const path = `teams/${admin.team}/members/${member.uid}`;
    const body = { role: 'member', permissions: ['manage_factory'] };
    const granted = await call(admin, 'PUT', path, body);
    expect(granted.body).toMatchObject({ user: { uid: member.uid }, ...body });
    expect((await call(member, 'GET', 'me')).body).toMatchObject({ teams: [body] });
    // Left out is not kept: the whole membership is replaced.
    expect((await call(admin, 'PUT', path, { role: 'admin' })).body).toMatchObject({ permissions: [] });
    expect((await call(member, 'PUT', path, { role: 'member' })).status).toBe(200);
    expect((await call(member, 'PUT', path, { role: 'admin' })).status).toBe(403);
    expect((await call(admin, 'DELETE', path)).status).toBe(204);
    expect((await call(member, 'GET', 'me')).body).toMatchObject({ teams: [] });
    expect((await call(admin, 'DELETE', path)).status).toBe(404);
  });

  it('may leave, but not remove others', async () => {
    const admin = await newMember('admin');
    const member = await insertUser(server.dataSource, { teams: [admin.team] });
    const path = `teams/${admin.team}/members`;
    expect((await call(member, 'DELETE', `${path}/${admin.uid}`)).status).toBe(403);
    expect((await call(member, 'PUT', `${path}/${member.uid}`, { role: 'admin' })).status).toBe(403);
    expect((await call(member, 'DELETE', `${path}/${member.uid}`)).status).toBe(204);
    expect((await members(admin)).map(({ user }) => user.uid)).toEqual([admin.uid]);
  });

  it('of another team, or of one that is not the active one, are unknown', async () => {
    const [admin, other] = [await newMember('admin'), await newMember('admin')];
    const both = await insertUser(server.dataSource, { teams: [admin.team, other.team], role: 'admin' });
    for (const user of [admin, inTeam(both, admin.team)]) {
      const path = `teams/${other.team}/members`;
      expect((await call(user, 'GET', path)).status).toBe(404);
      expect((await call(user, 'PUT', `${path}/${other.uid}`, { role: 'member' })).status).toBe(404);
      expect((await call(user, 'DELETE', `${path}/${other.uid}`)).status).toBe(404);
    }
    expect(await members(other)).toMatchObject([{ role: 'admin' }, { role: 'admin' }]);
    const nobody = `teams/${admin.team}/members/${randomUUID()}`;
    expect((await call(admin, 'PUT', nobody, { role: 'member' })).status).toBe(404);
    expect((await call(admin, 'PUT', `teams/red/members/${admin.uid}`, { role: 'admin' })).status).toBe(404);
  });

  it.each([
    [{}, 'role'],
    [{ role: 'owner' }, 'role'],
    [{ role: 'member', permissions: ['fly'] }, 'permissions'],
    [{ role: 'member', permissions: ['manage_factory', 'manage_factory'] }, 'permissions'],
    [{ role: 'member', operator: true }, 'operator'],
  ])('cannot be %j', async (body, field) => {
    const admin = await newMember('admin');
    const answer = await call(admin, 'PUT', `teams/${admin.team}/members/${admin.uid}`, body);
    expect(answer.status).toBe(400);
    expect(fieldsOf(answer)).toEqual([field]);
  });

  it('always include an admin', async () => {
    const admin = await newMember('admin');
    const path = `teams/${admin.team}/members/${admin.uid}`;
    await insertUser(server.dataSource, { teams: [admin.team] });
    const demoted = await call(admin, 'PUT', path, { role: 'member' });
    expect(demoted.body).toMatchObject({ status: 409, error_code: 'conflict' });
    expect((await call(admin, 'DELETE', path)).status).toBe(409);
    expect((await call(admin, 'PUT', path, { role: 'admin', permissions: [] })).status).toBe(200);
    expect((await members(admin)).map(({ role }) => role).sort()).toEqual(['admin', 'member']);
  });

  it.each(['PUT', 'DELETE'])('keep one of two admins who go at the same time by %s', async (method) => {
    for (let round = 0; round < 8; round++) {
      const one = await newMember('admin');
      const two = await insertUser(server.dataSource, { teams: [one.team], role: 'admin' });
      const body = method === 'PUT' ? { role: 'member' } : undefined;
      const answers = await Promise.all(
        [one, two].map((user) => call(user, method, `teams/${one.team}/members/${user.uid}`, body)),
      );
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(1);
    }
  });

  it('are a thousand at most', async () => {
    const admin = await newMember('admin');
    await fill(
      `WITH filler AS (
         INSERT INTO users (uid, display_name) SELECT gen_random_uuid(), 'filler' FROM generate_series(1, 998) RETURNING uid
       )
       INSERT INTO memberships (team_uid, user_uid, role) SELECT $1, uid, 'member' FROM filler`,
      [admin.team],
    );
    const [last, over] = [
      await insertUser(server.dataSource, { teams: [] }),
      await insertUser(server.dataSource, { teams: [] }),
    ];
    const add = (user: TestUser) =>
      call(admin, 'PUT', `teams/${admin.team}/members/${user.uid}`, { role: 'member' });
    expect((await add(last)).status).toBe(200);
    expect((await add(over)).body).toMatchObject({ status: 403, error_code: 'budget_exceeded' });
    expect((await add(last)).status).toBe(200);
    expect(await members(admin)).toHaveLength(1000);
  });
});

describe('People', () => {
  it('finds a member by uid or e-mail address, and nobody outside of the team', async () => {
    const ada = await newMember();
    const email = `ada.${randomUUID()}@example.com`;
    await server.dataSource.query('UPDATE users SET email = $2 WHERE uid = $1', [ada.uid, email]);
    const people = server.app.get(People);
    const found = { userUid: ada.uid, displayName: 'Ada', email };
    expect(await people.findMember(ada.team, ada.uid)).toMatchObject(found);
    expect(await people.findMember(ada.team, email.toUpperCase())).toMatchObject(found);
    const elsewhere = await firstTeam(server.dataSource);
    expect(await people.findMember(elsewhere, ada.uid)).toBeUndefined();
    expect(await people.findMember(elsewhere, email)).toBeUndefined();
    expect(await people.findMember(ada.team, '')).toBeUndefined();
  });
});

describe('the installation', () => {
  it('keeps the bootstrap key with its first user, whatever team roles are given later', async () => {
    const me = async (): Promise<string> =>
      ((await server.call('GET', '/v1/me')).body as { principal: { uid: string } }).principal.uid;
    const before = await me();
    await insertUser(server.dataSource, { teams: [await firstTeam(server.dataSource)], role: 'admin' });
    await server.dataSource.query(`UPDATE memberships SET role = 'member' WHERE user_uid = $1`, [before]);
    await server.app.get(Transactor).run((tx) => server.app.get(BootstrapInstallation).execute(tx));
    expect(await me()).toBe(before);
  });
});
