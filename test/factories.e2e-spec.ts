import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { firstTeam, insertTeam, insertUser, type TestUser } from './support/identities.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

const PATH = '/v1/factories';

interface Factory {
  uid: string;
  name: string;
  mode: string;
}

let server: TestApp;
let team: string;

beforeAll(async () => {
  server = await startTestApp();
  team = await firstTeam(server.dataSource);
});
afterAll(async () => {
  await server.close();
});

type Headers = Record<string, string>;
const create = (body: object, headers?: Headers): Promise<Answer> => server.call('POST', PATH, body, headers);
const list = async (headers?: Headers): Promise<Factory[]> =>
  ((await server.call('GET', PATH, undefined, headers)).body as { factories: Factory[] }).factories;

async function created(name: string): Promise<Factory> {
  const { status, body } = await create({ name });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as Factory;
}

async function defaultFactory(headers?: Headers): Promise<Factory> {
  const found = (await list(headers)).filter(({ name }) => name === 'default');
  expect(found).toHaveLength(1);
  return found[0]!;
}

const fieldsOf = ({ body }: Answer): string[] =>
  (body as { errors: { field: string }[] }).errors.map(({ field }) => field);

/** An admin of a team that nobody has looked at yet. */
const newTeam = async (): Promise<TestUser> =>
  insertUser(server.dataSource, { teams: [await insertTeam(server.dataSource)], role: 'admin' });

describe('the default factory', () => {
  it('is there from the start of a team, once, however many look at the same time', async () => {
    const { headers } = await newTeam();
    const lists = await Promise.all(Array.from({ length: 10 }, () => list(headers)));
    expect(new Set(lists.map(([factory]) => factory?.uid)).size).toBe(1);
    expect(lists.map((factories) => factories.length)).toEqual(lists.map(() => 1));
    expect(lists[0]?.[0]).toMatchObject({ name: 'default', mode: 'managed' });
  });

  it.each(['default', 'DEFAULT'])('leaves its name %s to no other, seen or unseen', async (name) => {
    const { headers } = await newTeam();
    expect((await create({ name }, headers)).status).toBe(409);
    expect((await list(headers)).map((factory) => factory.name)).toEqual(['default']);
  });

  it('is neither deleted nor renamed', async () => {
    const { uid } = await defaultFactory();
    expect((await server.call('DELETE', `${PATH}/${uid}`)).status).toBe(400);
    expect(fieldsOf(await server.call('PUT', `${PATH}/${uid}`, { name: 'main' }))).toEqual(['name']);
    expect(fieldsOf(await server.call('PUT', `${PATH}/${uid}`, { name: 'Default' }))).toEqual(['name']);
    const kept = await server.call('PUT', `${PATH}/${uid}`, { name: 'default', mode: 'managed' });
    expect([kept.status, kept.body]).toMatchObject([200, { name: 'default' }]);
  });
});

describe('a factory', () => {
  it('is made, read, changed and deleted', async () => {
    const answer = await create({ name: 'Backend' });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      uid: expect.any(String) as unknown,
      name: 'Backend',
      mode: 'managed',
      scope: { type: 'Team', uid: team },
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
    });
    const { uid } = answer.body as Factory;
    expect((await server.call('GET', `${PATH}/${uid}`)).body).toEqual(answer.body);
    expect(await list()).toContainEqual(answer.body);

    const renamed = await server.call('PUT', `${PATH}/${uid}`, { name: 'Server', mode: null });
    expect([renamed.status, renamed.body]).toMatchObject([200, { name: 'Server', mode: 'managed' }]);
    const moded = await server.call('PUT', `${PATH}/${uid}`, { mode: 'repository' });
    expect([moded.status, moded.body]).toMatchObject([200, { name: 'Server', mode: 'repository' }]);

    expect((await server.call('DELETE', `${PATH}/${uid}`)).status).toBe(204);
    expect((await server.call('GET', `${PATH}/${uid}`)).status).toBe(404);
    expect((await server.call('DELETE', `${PATH}/${uid}`)).status).toBe(404);
    expect((await server.call('PUT', `${PATH}/${uid}`, { name: 'x' })).status).toBe(404);
  });

  it('keeps its name while a repository defines it; its mode is changed, and it is deleted', async () => {
    const { uid } = await created('Ours');
    const put = (change: object): Promise<Answer> => server.call('PUT', `${PATH}/${uid}`, change);
    expect((await put({ name: 'Of files', mode: 'repository' })).status).toBe(200);
    for (const change of [{ name: 'Another' }, { name: 'OF FILES' }, { name: 'Another', mode: 'managed' }]) {
      const refused = await put(change);
      expect([refused.status, refused.body]).toMatchObject([
        409,
        { retryable: false, detail: expect.stringContaining('defined by a repository') },
      ]);
    }
    expect((await put({ name: 'Of files' })).body).toMatchObject({ name: 'Of files', mode: 'repository' });
    expect((await put({ mode: 'managed' })).status).toBe(200);
    expect((await put({ name: 'Another', mode: 'repository' })).status).toBe(200);
    expect((await server.call('DELETE', `${PATH}/${uid}`)).status).toBe(204);
  });

  it('has a name that is unique in its team, in whatever case: of five at once one gets it', async () => {
    const answers = await Promise.all(['a', 'A', 'a', 'A', 'a'].map((name) => create({ name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
      error_code: 'conflict',
      retryable: false,
    });
    const { headers } = await newTeam();
    expect((await create({ name: 'a' }, headers)).status).toBe(201);
  });

  it('takes no name of another when it is renamed: of three renamed at once one gets it', async () => {
    const [one, two, three] = [await created('one'), await created('two'), await created('three')];
    expect((await server.call('PUT', `${PATH}/${one.uid}`, { name: 'TWO' })).status).toBe(409);
    expect((await server.call('PUT', `${PATH}/${one.uid}`, { name: 'ONE' })).status).toBe(200);
    const answers = await Promise.all(
      [one, two, three].map(({ uid }) => server.call('PUT', `${PATH}/${uid}`, { name: 'the one' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });

  it.each<[object, string]>([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: ' x' }, 'name'],
    [{ name: 'x ' }, 'name'],
    [{ name: '.x' }, 'name'],
    [{ name: 'a/b' }, 'name'],
    [{ name: 'a\\b' }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: 'x', mode: 'other' }, 'mode'],
    [{ name: 'x', team: true }, 'team'],
  ])('%j is a 400 that names the field', async (body, field) => {
    const answer = await create(body);
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
  });

  it.each(['x', '10%', 'Žluťoučký 🐎', 'a.b', 'constructor'])('may be called %s', async (name) => {
    const { uid } = await created(name);
    expect((await server.call('GET', `${PATH}/${uid}`)).body).toMatchObject({ name });
  });

  it.each(['GET', 'PUT', 'DELETE'])('that is not there is a 404 for %s', async (method) => {
    const body = method === 'PUT' ? { name: 'x' } : undefined;
    for (const uid of [randomUUID(), 'nonsense', '%00'])
      expect((await server.call(method, `${PATH}/${uid}`, body)).status).toBe(404);
  });
});

describe('who may', () => {
  it('another team knows nothing of it, and a member without the permission only reads', async () => {
    const { uid } = await created('ours');
    const stranger = await newTeam();
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { name: 'theirs' }],
      ['DELETE', undefined],
    ] as const) {
      expect((await server.call(method, `${PATH}/${uid}`, body, stranger.headers)).status).toBe(404);
    }
    expect((await list(stranger.headers)).map(({ name }) => name)).toEqual(['default']);

    const member = await insertUser(server.dataSource, { teams: [team] });
    expect((await server.call('GET', `${PATH}/${uid}`, undefined, member.headers)).status).toBe(200);
    expect((await create({ name: 'x2' }, member.headers)).status).toBe(403);
    expect((await server.call('DELETE', `${PATH}/${uid}`, undefined, member.headers)).status).toBe(403);
    const granted = await insertUser(server.dataSource, { teams: [] });
    await server.dataSource.query(
      `INSERT INTO memberships (team_uid, user_uid, role, permissions) VALUES ($1, $2, 'member', '{manage_factory}')`,
      [team, granted.uid],
    );
    expect((await create({ name: 'x2' }, granted.headers)).status).toBe(201);
  });

  it('who belongs to several teams says for which they act', async () => {
    const both = await insertUser(server.dataSource, {
      teams: [team, await insertTeam(server.dataSource)],
      role: 'admin',
    });
    expect((await server.call('GET', PATH, undefined, both.headers)).status).toBe(403);
    expect(await list({ ...both.headers, 'X-Team-Uid': team })).not.toHaveLength(0);
  });
});
