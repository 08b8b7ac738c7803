import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Environments } from '../src/catalog/index.js';
import type { AccountCaller } from '../src/identities/index.js';
import { describeApiKey, newApiKey } from '../src/identities/domain/api-key.js';
import { newEnvironmentUid } from '../src/catalog/domain/environment-uid.js';
import { Database } from '../src/kernel/persistence/database.js';
import { insertTeam, insertUser, type TestUser } from './support/identities.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

interface Environment {
  uid: string;
  config: { name?: string } & Record<string, unknown>;
  last_updated: string;
  setup_failed: boolean;
  last_task_run_timestamp: string | null;
  last_task_created?: { id: string; title: string; state: string };
  scope: { type: string; uid: string };
  creator: { uid: string };
  last_editor: { uid: string };
}
interface Share {
  uid: string;
  kind: string;
  grantee_uid?: string;
  created_at: string;
  token?: string;
  link?: string;
}
interface Person extends TestUser {
  teams: string[];
}

const UNKNOWN_UID = 'AAAAAAAAAAAAAAAAAAAAAA';
const PATH = '/v1/agent/environments';
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown as string;

let server: TestApp;
/** Ada and Bob are in the red team, Cid in the blue one, Dan in none. */
let red: string;
let blue: string;
let ada: Person;
let bob: Person;
let cid: Person;
let dan: Person;

beforeAll(async () => {
  server = await startTestApp({ ROLES: 'api', API_REQUESTS_PER_MINUTE: '0' });
  red = await insertTeam(server.dataSource, 'Red');
  blue = await insertTeam(server.dataSource, 'Blue');
  ada = await person('Ada', [red]);
  bob = await person('Bob', [red]);
  cid = await person('Cid', [blue]);
  dan = await person('Dan', []);
});
afterAll(async () => {
  await server.close();
});

async function person(name: string, teams: string[]): Promise<Person> {
  return { ...(await insertUser(server.dataSource, { name, teams })), teams };
}

/** An agent identity of the team, with a key. */
async function agentOf(team: string): Promise<{ uid: string; headers: Record<string, string> }> {
  const uid = randomUUID();
  await server.dataSource.query(`INSERT INTO agents (uid, team_uid, name) VALUES ($1, $2, 'An agent')`, [
    uid,
    team,
  ]);
  const { key, prefix, lastFour, hash } = describeApiKey(newApiKey().key);
  await server.dataSource.query(
    `INSERT INTO api_keys (uid, name, prefix, last_four, hash, agent_uid) VALUES ($1, 'test', $2, $3, $4, $5)`,
    [randomUUID(), prefix, lastFour, hash, uid],
  );
  return { uid, headers: { Authorization: `Bearer ${key}` } };
}

const as = (
  who: { headers: Record<string, string> },
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> => server.call(method, PATH + path, body, who.headers);

async function create(who: Person, body: object = {}): Promise<Environment> {
  const answer = await as(who, 'POST', '', body);
  expect(answer.status).toBe(201);
  return answer.body as Environment;
}

async function share(who: Person, uid: string, body: object): Promise<Share> {
  const answer = await as(who, 'POST', `/${uid}/shares`, body);
  expect(answer.status).toBe(201);
  return answer.body as Share;
}

async function list(who: { headers: Record<string, string> }, query = ''): Promise<Environment[]> {
  const answer = await as(who, 'GET', query);
  expect(answer.status).toBe(200);
  return (answer.body as { environments: Environment[] }).environments;
}

const listed = async (who: { headers: Record<string, string> }, uid: string): Promise<boolean> =>
  (await list(who)).some((environment) => environment.uid === uid);

const statusOf = async (
  who: { headers: Record<string, string> },
  method: string,
  path: string,
  body?: unknown,
): Promise<number> => (await as(who, method, path, body)).status;

async function insertRun(
  environmentUid: string,
  run: {
    team?: string;
    owner?: string;
    createdAt: string;
    state?: string;
    errorCode?: string;
    startedAt?: string;
  },
): Promise<string> {
  const id = randomUUID();
  await server.dataSource.query(
    `INSERT INTO runs (id, title, state, status_message, team_uid, owner_uid, creator_uid, executor_uid, source, environment_id,
                       created_at, started_at)
     VALUES ($1, 'A title', $2, $3, $4, $5, $6, $6, 'API', $7, $8, $9)`,
    [
      id,
      run.state ?? 'QUEUED',
      run.errorCode === undefined
        ? null
        : JSON.stringify({ message: 'It failed', error_code: run.errorCode }),
      run.team ?? null,
      run.owner ?? null,
      ada.uid,
      environmentUid,
      run.createdAt,
      run.startedAt ?? null,
    ],
  );
  return id;
}

describe('a new environment', () => {
  const config = {
    name: 'web shop',
    description: null,
    docker_image: 'ghcr.io/acme/shop:1.2@sha256:0123',
    github_repos: [{ owner: 'acme', repo: '.github' }],
    setup_commands: ['npm ci', 'echo "🚀"'],
    providers: {
      gcp: {
        project_number: '123',
        workload_identity_federation_pool_id: 'pool',
        workload_identity_federation_provider_id: 'provider',
      },
      aws: { role_arn: 'arn:aws:iam::123456789012:role/agent' },
    },
    failure_session_retention_minutes: 60,
  };

  it('is all that it was asked to be, and nothing else', async () => {
    const environment = await create(ada, config);
    expect(environment).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      config,
      last_updated: TIME,
      setup_failed: false,
      last_task_run_timestamp: null,
      scope: { type: 'Team', uid: red },
      creator: { type: 'user', uid: ada.uid, display_name: 'Ada' },
      last_editor: { type: 'user', uid: ada.uid, display_name: 'Ada' },
    });
    expect((await as(ada, 'GET', `/${environment.uid}`)).body).toEqual(environment);
  });

  it('can be empty; null leaves out, but where null is a value', async () => {
    expect((await create(ada, {})).config).toEqual({});
    const nothing = {
      name: null,
      docker_image: null,
      github_repos: null,
      setup_commands: null,
      providers: { gcp: null, aws: null },
      team: null,
    };
    const values = { description: null, failure_session_retention_minutes: null };
    expect((await create(ada, { ...nothing, ...values })).config).toEqual({ providers: {}, ...values });
    expect((await create(ada, { providers: null })).config).toEqual({});
  });

  it('belongs to the only team of its maker, unless they say otherwise', async () => {
    expect((await create(ada)).scope).toEqual({ type: 'Team', uid: red });
    expect((await create(ada, { team: false })).scope).toEqual({ type: 'User', uid: ada.uid });
    expect((await create(dan)).scope).toEqual({ type: 'User', uid: dan.uid });
    expect((await as(dan, 'POST', '', { team: true })).body).toMatchObject({
      status: 400,
      errors: [{ field: 'team' }],
    });
  });

  const repo = { owner: 'acme', repo: 'shop' };
  const gcp = config.providers.gcp;
  const wrong: [object, string][] = [
    [{ name: '' }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: 'x'.repeat(257) }, 'name'],
    [{ name: 'a\0b' }, 'name'],
    [{ nmae: 'x' }, 'nmae'],
    [{ team: 'yes' }, 'team'],
    [{ description: 'x'.repeat(10_001) }, 'description'],
    [{ docker_image: '' }, 'docker_image'],
    [{ docker_image: '--privileged' }, 'docker_image'],
    [{ docker_image: 'ubuntu; rm -rf /' }, 'docker_image'],
    [{ docker_image: 'x'.repeat(513) }, 'docker_image'],
    [{ github_repos: repo }, 'github_repos'],
    [{ github_repos: [null] }, 'github_repos'],
    [{ github_repos: ['acme/shop'] }, 'github_repos'],
    [{ github_repos: [[repo]] }, 'github_repos'],
    [{ github_repos: Array.from({ length: 51 }, () => repo) }, 'github_repos'],
    [{ github_repos: [{ owner: 'acme' }] }, 'github_repos.0.repo'],
    [{ github_repos: [{ ...repo, branch: 'main' }] }, 'github_repos.0.branch'],
    [{ github_repos: [repo, { ...repo, owner: '-acme' }] }, 'github_repos.1.owner'],
    [{ github_repos: [{ ...repo, owner: '..' }] }, 'github_repos.0.owner'],
    [{ github_repos: [{ ...repo, owner: 'a/b' }] }, 'github_repos.0.owner'],
    [{ github_repos: [{ ...repo, owner: 'a'.repeat(101) }] }, 'github_repos.0.owner'],
    [{ github_repos: [{ ...repo, repo: '..' }] }, 'github_repos.0.repo'],
    [{ github_repos: [{ ...repo, repo: '.' }] }, 'github_repos.0.repo'],
    [{ github_repos: [{ ...repo, repo: '-shop' }] }, 'github_repos.0.repo'],
    [{ github_repos: [{ ...repo, repo: 'shop.git' }] }, 'github_repos.0.repo'],
    [{ github_repos: [{ ...repo, repo: 'a/b' }] }, 'github_repos.0.repo'],
    [{ github_repos: [{ ...repo, repo: 'shop\n' }] }, 'github_repos.0.repo'],
    [{ setup_commands: 'npm ci' }, 'setup_commands'],
    [{ setup_commands: [''] }, 'setup_commands'],
    [{ setup_commands: [7] }, 'setup_commands'],
    [{ setup_commands: ['x'.repeat(10_001)] }, 'setup_commands'],
    [{ setup_commands: Array.from({ length: 101 }, () => 'true') }, 'setup_commands'],
    [{ providers: [] }, 'providers'],
    [{ providers: { azure: {} } }, 'providers.azure'],
    [{ providers: { aws: {} } }, 'providers.aws.role_arn'],
    [{ providers: { aws: { role_arn: 'arn:aws:s3:::bucket' } } }, 'providers.aws.role_arn'],
    [{ providers: { gcp: { ...gcp, project_number: 123 } } }, 'providers.gcp.project_number'],
    [{ providers: { gcp: { ...gcp, service_account_email: 'me' } } }, 'providers.gcp.service_account_email'],
    [{ failure_session_retention_minutes: 0 }, 'failure_session_retention_minutes'],
    [{ failure_session_retention_minutes: 61 }, 'failure_session_retention_minutes'],
    [{ failure_session_retention_minutes: 1.5 }, 'failure_session_retention_minutes'],
    [{ failure_session_retention_minutes: '5' }, 'failure_session_retention_minutes'],
  ];
  it.each(wrong.map(([body, field]) => [field, body] as const))(
    'with a wrong %s is a 400 that names it (%#)',
    async (field, body) => {
      const before = await list(ada);
      const { uid } = before[0]!;
      const requests: [string, string][] = [
        ['POST', ''],
        ['PUT', `/${uid}`],
      ];
      for (const [method, path] of requests) {
        const answer = await as(ada, method, path, body);
        expect(answer).toMatchObject({ status: 400, body: { error_code: 'invalid_request' } });
        const { errors } = answer.body as { errors: { field: string; message: string }[] };
        expect(errors.map((error) => error.field)).toContain(field);
      }
      expect(await list(ada)).toEqual(before);
    },
  );

  it('takes as much as it may', async () => {
    const most = {
      name: 'ü'.repeat(256),
      github_repos: Array.from({ length: 50 }, (_, index) => ({ owner: 'a'.repeat(100), repo: `r${index}` })),
      setup_commands: Array.from({ length: 100 }, () => 'x'.repeat(10_000)),
      failure_session_retention_minutes: 1,
    };
    expect((await create(ada, most)).config).toEqual(most);
  });
});

describe('an environment', () => {
  it('is replaced as a whole by anybody of the team that owns it', async () => {
    const made = await create(ada, { name: 'before', description: 'x', setup_commands: ['a'] });
    const answer = await as(bob, 'PUT', `/${made.uid}`, { name: 'after', docker_image: 'node' });
    expect(answer).toMatchObject({
      status: 200,
      body: { uid: made.uid, scope: made.scope, creator: { uid: ada.uid }, last_editor: { uid: bob.uid } },
    });
    const replaced = answer.body as Environment;
    expect(replaced.config).toEqual({ name: 'after', docker_image: 'node' });
    expect(replaced.last_updated >= made.last_updated).toBe(true);
    expect((await as(ada, 'GET', `/${made.uid}`)).body).toEqual(replaced);
    // Who owns it was settled when it was made.
    expect(await statusOf(bob, 'PUT', `/${made.uid}`, { team: false })).toBe(400);
  });

  it('is deleted with its shares by anybody of the team that owns it, whatever runs name it', async () => {
    const { uid } = await create(ada);
    const link = await share(ada, uid, { kind: 'link' });
    await share(ada, uid, { kind: 'user', uid: cid.uid });
    expect(await statusOf(dan, 'GET', `/${uid}?link=${link.token}`)).toBe(200);
    const run = await insertRun(uid, { team: red, createdAt: '2026-01-01T00:00:00Z' });
    expect(await as(bob, 'DELETE', `/${uid}`)).toMatchObject({ status: 204, body: '' });
    for (const who of [ada, bob, cid, dan]) {
      expect(await statusOf(who, 'GET', `/${uid}`)).toBe(404);
      expect(await listed(who, uid)).toBe(false);
    }
    expect(await statusOf(bob, 'DELETE', `/${uid}`)).toBe(404);
    const kept = await server.dataSource.query('SELECT environment_id FROM runs WHERE id = $1', [run]);
    expect(kept).toEqual([{ environment_id: uid }]);
    const left = await server.dataSource.query(
      'SELECT 1 FROM environment_shares WHERE environment_uid = $1 UNION ALL SELECT 1 FROM environment_link_visits WHERE share_uid = $2',
      [uid, link.uid],
    );
    expect(left).toEqual([]);
  });

  it.each(['short', `${UNKNOWN_UID}A`, 'AAAAAAAAAAAAAAAAAAAAA-', '%00', UNKNOWN_UID])(
    'named %s is a 404 on every route',
    async (uid) => {
      const requests: [string, string, unknown?][] = [
        ['GET', ''],
        ['GET', '?link=x'],
        ['PUT', '', {}],
        ['DELETE', ''],
        ['GET', '/shares'],
        ['POST', '/shares', { kind: 'link' }],
        ['DELETE', `/shares/${randomUUID()}`],
      ];
      for (const [method, path, body] of requests) {
        expect((await as(ada, method, `/${uid}${path}`, body)).body).toMatchObject({
          status: 404,
          error_code: 'resource_not_found',
        });
      }
    },
  );

  it('of one person is nobody else’s, not even their team’s', async () => {
    const { uid } = await create(ada, { team: false });
    expect(await listed(ada, uid)).toBe(true);
    for (const who of [bob, cid, dan]) await expectUnknown(who, uid);
  });

  it('of a team is no other team’s', async () => {
    const { uid } = await create(ada);
    expect(await listed(bob, uid)).toBe(true);
    for (const who of [cid, dan]) await expectUnknown(who, uid);
  });

  it('of a team is there for whoever acts for that team at the moment', async () => {
    const eve = await person('Eve', [red, blue]);
    const { uid } = await create(ada);
    const { uid: own } = await create(eve);
    const forTeam = (team?: string) => ({
      headers: { ...eve.headers, ...(team === undefined ? {} : { 'X-Team-Uid': team }) },
    });
    expect(await listed(forTeam(red), uid)).toBe(true);
    for (const other of [forTeam(blue), forTeam()]) {
      expect(await listed(other, uid)).toBe(false);
      expect(await statusOf(other, 'PUT', `/${uid}`, {})).toBe(404);
    }
    for (const team of [red, blue, undefined]) expect(await listed(forTeam(team), own)).toBe(true);
  });

  it('of the team is there for its agents, to read', async () => {
    const agent = await agentOf(red);
    const ofTeam = await create(ada);
    const ofPerson = await create(ada, { team: false });
    const ofGuests = await create(cid);
    await share(cid, ofGuests.uid, { kind: 'team', uid: red });
    expect(await listed(agent, ofTeam.uid)).toBe(true);
    expect(await listed(agent, ofGuests.uid)).toBe(true);
    expect(await listed(agent, ofPerson.uid)).toBe(false);
    expect(await statusOf(agent, 'GET', `/${ofPerson.uid}`)).toBe(404);
    const requests: [string, string, unknown?][] = [
      ['POST', '', {}],
      ['PUT', `/${ofTeam.uid}`, {}],
      ['DELETE', `/${ofTeam.uid}`],
      ['GET', `/${ofTeam.uid}/shares`],
    ];
    for (const [method, path, body] of requests) expect(await statusOf(agent, method, path, body)).toBe(403);
  });
});

async function expectUnknown(who: Person, uid: string): Promise<void> {
  expect(await listed(who, uid)).toBe(false);
  const requests: [string, string, unknown?][] = [
    ['GET', ''],
    ['PUT', '', {}],
    ['DELETE', ''],
    ['GET', '/shares'],
    ['POST', '/shares', { kind: 'link' }],
    ['DELETE', `/shares/${randomUUID()}`],
  ];
  for (const [method, path, body] of requests)
    expect(await statusOf(who, method, `/${uid}${path}`, body)).toBe(404);
}

async function expectGuest(who: Person, uid: string, shareUid: string): Promise<void> {
  expect(await listed(who, uid)).toBe(true);
  expect(await statusOf(who, 'GET', `/${uid}`)).toBe(200);
  const requests: [string, string, unknown?][] = [
    ['PUT', '', {}],
    ['DELETE', ''],
    ['GET', '/shares'],
    ['POST', '/shares', { kind: 'link' }],
    ['DELETE', `/shares/${shareUid}`],
    ['DELETE', `/shares/${randomUUID()}`],
  ];
  for (const [method, path, body] of requests) {
    const answer = await as(who, method, `/${uid}${path}`, body);
    expect(answer.body).toMatchObject({ status: 403, error_code: 'not_authorized' });
  }
}

describe('a share', () => {
  it('with a user makes them, and nobody else, a guest until it ends', async () => {
    const { uid } = await create(ada);
    const given = await share(ada, uid, { kind: 'user', uid: cid.uid });
    expect(given).toEqual({ uid: expect.any(String), kind: 'user', grantee_uid: cid.uid, created_at: TIME });
    await expectGuest(cid, uid, given.uid);
    await expectUnknown(dan, uid);
    expect(await as(bob, 'DELETE', `/${uid}/shares/${given.uid}`)).toMatchObject({ status: 204 });
    await expectUnknown(cid, uid);
    expect(await statusOf(bob, 'DELETE', `/${uid}/shares/${given.uid}`)).toBe(404);
  });

  it('with a team makes whoever acts for it a guest', async () => {
    const { uid } = await create(dan, { name: "Dan's" });
    const given = await share(dan, uid, { kind: 'team', uid: blue });
    expect(given).toMatchObject({ kind: 'team', grantee_uid: blue });
    await expectGuest(cid, uid, given.uid);
    await expectUnknown(ada, uid);
    const eve = await person('Eve', [red, blue]);
    expect(await listed({ headers: { ...eve.headers, 'X-Team-Uid': blue } }, uid)).toBe(true);
    expect(await listed({ headers: { ...eve.headers, 'X-Team-Uid': red } }, uid)).toBe(false);
  });

  it('gives an environment once, by however many ways it was given', async () => {
    const { uid } = await create(ada);
    await share(ada, uid, { kind: 'user', uid: cid.uid });
    await share(ada, uid, { kind: 'team', uid: blue });
    await share(ada, uid, { kind: 'team', uid: red });
    const { token } = await share(ada, uid, { kind: 'link' });
    expect(await statusOf(cid, 'GET', `/${uid}?link=${token}`)).toBe(200);
    expect((await list(cid)).filter((environment) => environment.uid === uid)).toHaveLength(1);
    expect((await list(ada)).filter((environment) => environment.uid === uid)).toHaveLength(1);
    // A guest twice over is still an owner where they are one.
    expect(await statusOf(bob, 'PUT', `/${uid}`, {})).toBe(200);
  });

  it('that is there already is answered again', async () => {
    const { uid } = await create(ada);
    const first = await share(ada, uid, { kind: 'user', uid: cid.uid });
    expect(await share(bob, uid, { kind: 'user', uid: cid.uid.toUpperCase() })).toEqual(first);
    const others = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        share(index % 2 === 0 ? ada : bob, uid, { kind: 'team', uid: blue }),
      ),
    );
    expect(new Set(others.map((other) => other.uid)).size).toBe(1);
    expect((await as(ada, 'GET', `/${uid}/shares`)).body).toEqual({ shares: [first, others[0]] });
  });

  it('belongs to its environment', async () => {
    const one = await create(ada);
    const other = await create(ada);
    const given = await share(ada, one.uid, { kind: 'user', uid: cid.uid });
    expect(await statusOf(ada, 'DELETE', `/${other.uid}/shares/${given.uid}`)).toBe(404);
    expect(await statusOf(ada, 'DELETE', `/${one.uid}/shares/nonsense`)).toBe(404);
    expect(await listed(cid, one.uid)).toBe(true);
  });

  it.each([
    [{}, 'kind'],
    [{ kind: 'world' }, 'kind'],
    [{ kind: 'user' }, 'uid'],
    [{ kind: 'team', uid: null }, 'uid'],
    [{ kind: 'user', uid: 'cid' }, 'uid'],
    [{ kind: 'user', uid: ['019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11'] }, 'uid'],
    [{ kind: 'user', uid: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' }, 'uid'],
    [{ kind: 'team', uid: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' }, 'uid'],
    [{ kind: 'link', uid: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' }, 'uid'],
    [{ kind: 'link', token: 'mine' }, 'token'],
  ])('asked for as %j is a 400 that names %s', async (body, field) => {
    const { uid } = await create(ada);
    expect((await as(ada, 'POST', `/${uid}/shares`, body)).body).toMatchObject({
      status: 400,
      errors: [{ field }],
    });
    expect((await as(ada, 'GET', `/${uid}/shares`)).body).toEqual({ shares: [] });
  });

  it('is with a user or a team as it says: neither stands for the other, nor does an agent', async () => {
    const { uid } = await create(ada);
    const agent = await agentOf(blue);
    for (const body of [
      { kind: 'user', uid: blue },
      { kind: 'team', uid: cid.uid },
      { kind: 'user', uid: agent.uid },
    ]) {
      expect((await as(ada, 'POST', `/${uid}/shares`, body)).body).toMatchObject({
        status: 400,
        errors: [{ field: 'uid' }],
      });
    }
  });

  it('is one of 1,000 at most; one that is there is still answered, a link still replaced', async () => {
    const { uid } = await create(ada);
    const first = await share(ada, uid, { kind: 'user', uid: cid.uid });
    await share(ada, uid, { kind: 'link' });
    await server.dataSource.query(
      `INSERT INTO environment_shares (uid, environment_uid, kind, grantee_uid)
       SELECT gen_random_uuid(), $1, 'user', gen_random_uuid() FROM generate_series(1, 997)`,
      [uid],
    );
    await share(ada, uid, { kind: 'team', uid: blue });
    expect((await as(ada, 'POST', `/${uid}/shares`, { kind: 'user', uid: dan.uid })).body).toMatchObject({
      status: 403,
      error_code: 'budget_exceeded',
    });
    expect(await share(ada, uid, { kind: 'user', uid: cid.uid })).toEqual(first);
    const link = await share(ada, uid, { kind: 'link' });
    const { shares } = (await as(ada, 'GET', `/${uid}/shares`)).body as { shares: Share[] };
    expect(shares).toHaveLength(1_000);
    await as(ada, 'DELETE', `/${uid}/shares/${link.uid}`);
    await share(ada, uid, { kind: 'user', uid: dan.uid });
    expect((await as(ada, 'POST', `/${uid}/shares`, { kind: 'link' })).body).toMatchObject({
      status: 403,
      error_code: 'budget_exceeded',
    });
  });
});

describe('a link', () => {
  it('shows its token once and keeps its hash alone', async () => {
    const { uid } = await create(ada);
    const link = await share(ada, uid, { kind: 'link' });
    expect(link).toEqual({
      uid: expect.any(String),
      kind: 'link',
      created_at: TIME,
      token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      link: `http://localhost:8080${PATH}/${uid}?link=${link.token}`,
    });
    const { body } = await as(ada, 'GET', `/${uid}/shares`);
    expect(body).toEqual({ shares: [{ uid: link.uid, kind: 'link', created_at: link.created_at }] });
    const [row] = await server.dataSource.query<object[]>(
      'SELECT s::text FROM environment_shares s WHERE uid = $1',
      [link.uid],
    );
    expect(JSON.stringify(row)).not.toContain(link.token);
  });

  it('counts once it has been opened, for whoever opened it', async () => {
    const { uid } = await create(ada);
    const { token, uid: shareUid } = await share(ada, uid, { kind: 'link' });
    await expectUnknown(cid, uid);
    const opened = await as(cid, 'GET', `/${uid}?link=${token}`);
    expect(opened).toMatchObject({ status: 200, body: { uid } });
    expect(await statusOf(cid, 'GET', `/${uid}?link=${token}`)).toBe(200);
    await expectGuest(cid, uid, shareUid);
    await expectUnknown(dan, uid);
  });

  it('that is wrong is a 404 whoever asks, and opens nothing', async () => {
    const one = await create(ada);
    const other = await create(ada);
    const { token } = await share(ada, one.uid, { kind: 'link' });
    await share(ada, other.uid, { kind: 'link' });
    const wrong = [
      `/${other.uid}?link=${token}`,
      `/${one.uid}?link=`,
      `/${one.uid}?link=${token?.slice(1)}`,
      `/${one.uid}?link=%00`,
      `/${one.uid}?link=${'x'.repeat(4_000)}`,
    ];
    for (const path of wrong) {
      for (const who of [cid, ada]) {
        const answer = await as(who, 'GET', path);
        expect(answer.body).toMatchObject({ status: 404, instance: `${PATH}/${path.slice(1, 23)}` });
      }
    }
    expect(await statusOf(cid, 'GET', `/${one.uid}?link=${token}&link=${token}`)).toBe(400);
    await expectUnknown(cid, one.uid);
    await expectUnknown(cid, other.uid);
  });

  it('takes the place of the one before, and that one’s visits are over', async () => {
    const { uid } = await create(ada);
    const before = await share(ada, uid, { kind: 'link' });
    expect(await statusOf(cid, 'GET', `/${uid}?link=${before.token}`)).toBe(200);
    const after = await share(bob, uid, { kind: 'link' });
    expect(after.token).not.toBe(before.token);
    await expectUnknown(cid, uid);
    expect(await statusOf(cid, 'GET', `/${uid}?link=${before.token}`)).toBe(404);
    expect(await statusOf(cid, 'GET', `/${uid}?link=${after.token}`)).toBe(200);
    await expectGuest(cid, uid, after.uid);
  });

  it('that is revoked ends the access of all who had opened it', async () => {
    const { uid } = await create(ada);
    const { token, uid: shareUid } = await share(ada, uid, { kind: 'link' });
    for (const who of [cid, dan]) expect(await statusOf(who, 'GET', `/${uid}?link=${token}`)).toBe(200);
    await share(ada, uid, { kind: 'user', uid: dan.uid });
    expect(await statusOf(ada, 'DELETE', `/${uid}/shares/${shareUid}`)).toBe(204);
    await expectUnknown(cid, uid);
    expect(await statusOf(cid, 'GET', `/${uid}?link=${token}`)).toBe(404);
    // What was given by name stays given.
    expect(await listed(dan, uid)).toBe(true);
  });

  it('asked for at the same time is one link in the end, whose token is one of the answers', async () => {
    const { uid } = await create(ada);
    const links = await Promise.all(Array.from({ length: 6 }, () => share(ada, uid, { kind: 'link' })));
    const statuses = await Promise.all(
      links.map(({ token }) => statusOf(cid, 'GET', `/${uid}?link=${token}`)),
    );
    expect(statuses.sort()).toEqual([200, 404, 404, 404, 404, 404]);
  });

  it('opened while it is revoked, or while its environment is deleted, is opened or unknown', async () => {
    for (let round = 0; round < 10; round++) {
      const { uid } = await create(ada);
      const { token, uid: shareUid } = await share(ada, uid, { kind: 'link' });
      const end = round % 2 === 0 ? `/${uid}/shares/${shareUid}` : `/${uid}`;
      const [ended, ...opened] = await Promise.all([
        statusOf(ada, 'DELETE', end),
        ...[cid, dan, cid, dan].map((who) => statusOf(who, 'GET', `/${uid}?link=${token}`)),
      ]);
      expect(ended).toBe(204);
      for (const status of opened) expect([200, 404]).toContain(status);
      expect(await listed(cid, uid)).toBe(false);
    }
  });
});

describe('the list', () => {
  /** Somebody of a team of their own, so that the lists of other tests do not show. */
  async function somebody(): Promise<Person> {
    return person('Somebody', [await insertTeam(server.dataSource)]);
  }

  it('has the latest change first', async () => {
    const who = await somebody();
    const [a, b, c] = [await create(who), await create(who, { team: false }), await create(who)];
    expect((await list(who)).map(({ uid }) => uid)).toEqual([c.uid, b.uid, a.uid]);
    await as(who, 'PUT', `/${a.uid}`, { name: 'changed' });
    const changed = [a.uid, c.uid, b.uid];
    expect((await list(who)).map(({ uid }) => uid)).toEqual(changed);
    expect((await list(who, '?sort_by=last_updated')).map(({ uid }) => uid)).toEqual(changed);
  });

  it('has those that changed at the same moment in one order', async () => {
    const who = await somebody();
    const uids = [];
    for (let index = 0; index < 5; index++) uids.push((await create(who)).uid);
    await server.dataSource.query(
      `UPDATE environments SET last_updated = '2026-01-01' WHERE uid = ANY ($1)`,
      [uids],
    );
    expect((await list(who)).map(({ uid }) => uid)).toEqual(uids.toSorted());
  });

  it('is by name on demand, whatever its case, and stable', async () => {
    const who = await somebody();
    for (const name of ['beta', 'Alpha', 'ÜBER', 'über', 'alpha', undefined, 'Beta', 'gamma'])
      await create(who, { name });
    const sorted = await list(who, '?sort_by=name');
    expect(sorted.map(({ config }) => (config.name ?? '').toLowerCase())).toEqual([
      '',
      'alpha',
      'alpha',
      'beta',
      'beta',
      'gamma',
      'über',
      'über',
    ]);
    const ties = [sorted.slice(1, 3), sorted.slice(3, 5), sorted.slice(6, 8)];
    for (const tie of ties.map((pair) => pair.map(({ uid }) => uid))) expect(tie).toEqual(tie.toSorted());
  });

  it.each(['sort_by=uid', 'sort_by=', 'sort_by=name&sort_by=name'])('with %s is a 400', async (query) => {
    expect((await as(ada, 'GET', `?${query}`)).body).toMatchObject({
      status: 400,
      errors: [{ field: 'sort_by' }],
    });
  });

  it('is bounded: 1,000 of the team, 1,000 of one’s own, and the 1,000 that were given last', async () => {
    const who = await somebody();
    const team = who.teams[0]!;
    const fill = (
      teamUid: string | null,
      ownerUid: string | null,
      count: number,
    ): Promise<{ uid: string }[]> =>
      server.dataSource.query(
        `INSERT INTO environments (uid, team_uid, owner_uid, name, config, creator_uid, last_editor_uid)
         SELECT uid, $1::uuid, $2::uuid, 'x', '{}', $3::uuid, $3::uuid FROM unnest($4::text[]) AS n (uid)
         RETURNING uid`,
        [teamUid, ownerUid, who.uid, Array.from({ length: count }, newEnvironmentUid)],
      );
    await fill(team, null, 999);
    const last = await create(who, { team: true });
    const full = { status: 403, body: { error_code: 'budget_exceeded' } };
    expect(await as(who, 'POST', '', { team: true })).toMatchObject(full);
    // What one person has of their own is another matter.
    await fill(null, who.uid, 999);
    const own = await create(who, { team: false });
    expect(await as(who, 'POST', '', { team: false })).toMatchObject(full);
    await fill(null, dan.uid, 1_001);
    await server.dataSource.query(
      `INSERT INTO environment_shares (uid, environment_uid, kind, grantee_uid, created_at)
       SELECT gen_random_uuid(), uid, 'user', $2, now() + row_number() OVER (ORDER BY uid) * interval '1 s'
         FROM environments WHERE owner_uid = $1 AND name = 'x'`,
      [dan.uid, who.uid],
    );
    const uids = new Set((await list(who)).map(({ uid }) => uid));
    expect(uids.size).toBe(3_000);
    expect(uids.has(own.uid) && uids.has(last.uid)).toBe(true);
    const [oldest] = await server.dataSource.query<{ uid: string }[]>(
      `SELECT environment_uid AS uid FROM environment_shares WHERE grantee_uid = $1 ORDER BY created_at LIMIT 1`,
      [who.uid],
    );
    expect(uids.has(oldest!.uid)).toBe(false);
    expect(await statusOf(who, 'GET', `/${oldest!.uid}`)).toBe(200);
    expect(await statusOf(who, 'DELETE', `/${last.uid}`)).toBe(204);
    const statuses = await Promise.all(
      Array.from({ length: 5 }, () => statusOf(who, 'POST', '', { team: true })),
    );
    expect(statuses.sort()).toEqual([201, 403, 403, 403, 403]);
    await server.dataSource.query(`DELETE FROM environments WHERE name = 'x'`);
  });
});

describe('of its runs an environment tells', () => {
  it('the latest by creation', async () => {
    const { uid } = await create(ada);
    const other = await create(ada);
    const id = await insertRun(uid, {
      team: red,
      createdAt: '2026-03-03T00:00:00Z',
      state: 'INPROGRESS',
      startedAt: '2026-03-03T00:00:01Z',
    });
    await insertRun(uid, { team: red, createdAt: '2026-03-02T00:00:00Z', state: 'SUCCEEDED' });
    const expected = {
      setup_failed: false,
      last_task_run_timestamp: '2026-03-03T00:00:00.000Z',
      last_task_created: {
        id,
        title: 'A title',
        state: 'INPROGRESS',
        created_at: '2026-03-03T00:00:00.000Z',
        updated_at: TIME,
        started_at: '2026-03-03T00:00:01.000Z',
      },
    };
    expect((await as(ada, 'GET', `/${uid}`)).body).toMatchObject(expected);
    const all = await list(bob);
    expect(all.find((environment) => environment.uid === uid)).toMatchObject(expected);
    const without = all.find((environment) => environment.uid === other.uid);
    expect(without).toMatchObject({ setup_failed: false, last_task_run_timestamp: null });
    expect(without).not.toHaveProperty('last_task_created');
    const later = await insertRun(uid, { team: red, createdAt: '2026-03-04T00:00:00Z' });
    expect((await as(ada, 'PUT', `/${uid}`, {})).body).toMatchObject({
      last_task_created: { id: later, state: 'QUEUED', started_at: null },
    });
  });

  it.each([
    ['FAILED', 'environment_setup_failed', true],
    ['FAILED', 'agent_process_failed', false],
    ['FAILED', undefined, false],
    ['ERROR', 'environment_setup_failed', false],
    ['SUCCEEDED', undefined, false],
  ])('whether it could be set up: %s with %s', async (state, errorCode, failed) => {
    const { uid } = await create(ada);
    const day = { team: red, createdAt: '2026-03-01T00:00:00Z' };
    await insertRun(uid, {
      ...day,
      state: 'FAILED',
      errorCode: failed ? undefined : 'environment_setup_failed',
    });
    await insertRun(uid, { ...day, createdAt: '2026-03-02T00:00:00Z', state, errorCode });
    expect((await as(ada, 'GET', `/${uid}`)).body).toMatchObject({ setup_failed: failed });
  });

  it('nothing that a caller may not read: of others’ runs when the latest was, and whether it was set up', async () => {
    const { uid } = await create(ada);
    await share(ada, uid, { kind: 'user', uid: cid.uid });
    const read = async (who: Person) => (await as(who, 'GET', `/${uid}`)).body as Environment;
    await insertRun(uid, {
      team: red,
      createdAt: '2026-03-01T00:00:00Z',
      state: 'FAILED',
      errorCode: 'environment_setup_failed',
    });
    expect(await read(cid)).toMatchObject({
      setup_failed: true,
      last_task_run_timestamp: '2026-03-01T00:00:00.000Z',
    });
    expect(await read(cid)).not.toHaveProperty('last_task_created');
    expect(await read(ada)).toHaveProperty('last_task_created');
    const guests = await insertRun(uid, { owner: cid.uid, createdAt: '2026-03-02T00:00:00Z' });
    expect(await read(cid)).toMatchObject({ setup_failed: false, last_task_created: { id: guests } });
    expect(await read(ada)).not.toHaveProperty('last_task_created');
  });

  it('with one statement for all of a list', async () => {
    const who = await person('Somebody', [await insertTeam(server.dataSource)]);
    for (let index = 0; index < 5; index++) {
      const { uid } = await create(who);
      await insertRun(uid, { team: who.teams[0]!, createdAt: '2026-03-01T00:00:00Z' });
    }
    const query = jest.spyOn(server.app.get(Database), 'query');
    const environments = await list(who);
    const statements = query.mock.calls.map(([sql]) => sql).filter((sql) => /\bFROM runs\b/.test(sql));
    query.mockRestore();
    expect(environments.map((environment) => environment.last_task_created?.title)).toEqual(
      Array.from({ length: 5 }, () => 'A title'),
    );
    expect(statements).toHaveLength(1);
  });
});

describe('for other contexts', () => {
  const callerOf = (who: Person): AccountCaller => ({
    kind: 'user',
    keyUid: randomUUID(),
    uid: who.uid,
    displayName: 'x',
    team:
      who.teams[0] === undefined ? undefined : { uid: who.teams[0], role: 'member', manageFactory: false },
    teamCount: who.teams.length,
    operator: false,
  });

  it('an environment can be used by its owners and guests alone, and set up by whoever executes', async () => {
    const environments = server.app.get(Environments, { strict: false });
    const database = server.app.get(Database);
    const { uid } = await create(ada, { name: 'usable' });
    const usable = (who: Person) => environments.usable(database, callerOf(who), uid);
    expect(await usable(bob)).toMatchObject({
      uid,
      config: { name: 'usable' },
      access: 'owner',
      team_uid: red,
    });
    expect(await usable(cid)).toBeUndefined();
    expect(await usable(dan)).toBeUndefined();
    await share(ada, uid, { kind: 'team', uid: blue });
    expect(await usable(cid)).toMatchObject({ uid, access: 'guest' });
    const { token } = await share(ada, uid, { kind: 'link' });
    expect(await usable(dan)).toBeUndefined();
    await as(dan, 'GET', `/${uid}?link=${token}`);
    expect(await usable(dan)).toMatchObject({ uid, access: 'guest' });
    expect(await environments.config(database, uid)).toEqual({ name: 'usable' });
    expect(await environments.config(database, UNKNOWN_UID)).toBeUndefined();
    expect(await environments.usable(database, callerOf(ada), 'nonsense')).toBeUndefined();
  });
});
