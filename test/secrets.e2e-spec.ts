import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import { randomBytes, randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { Secrets } from '../src/catalog/index.js';
import { Reencryption } from '../src/kernel/security/reencryption.js';
import { SecretRepository } from '../src/catalog/persistence/secret.repository.js';
import { Problem } from '../src/kernel/errors/problem.js';
import { Database } from '../src/kernel/persistence/database.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { SecretBox } from '../src/kernel/security/secret-box.js';
import { firstTeam, insertTeam, insertUser, type TestUser } from './support/identities.js';
import { ADMIN_KEY, type Answer, startTestApp, type TestApp } from './support/test-app.js';

const PATH = '/v1/secrets';
/** Nothing else in the system looks like it. */
const VALUE = 'hunter2-Žluťoučký-hunter2';

let server: TestApp;
let team: string;
const logged: string[] = [];

const record = (...parts: unknown[]): void => {
  logged.push(inspect(parts, { depth: 10, maxStringLength: null }));
};
const RECORDER: LoggerService = { log: record, error: record, warn: record, debug: record, verbose: record };

beforeAll(async () => {
  server = await startTestApp();
  server.app.useLogger(RECORDER);
  team = await firstTeam(server.dataSource);
});
afterAll(async () => {
  await server.close();
});

const nameOf = (() => {
  let count = 0;
  return () => `SECRET_${String(++count)}`;
})();

type Headers = Record<string, string>;
const create = (body: object, headers?: Headers): Promise<Answer> => server.call('POST', PATH, body, headers);

async function created(value = VALUE, teamHeaders?: Headers): Promise<string> {
  const name = nameOf();
  const { status, body } = await create({ name, value, team: true }, teamHeaders);
  if (status !== 201) throw new Error(`no secret was created: ${JSON.stringify(body)}`);
  return name;
}

const valuesOf = (names: string[], of = team, by = server) =>
  by.app.get(Secrets).values(by.app.get(Database), of, names);

async function names(query = '', headers?: Headers): Promise<string[]> {
  const { body } = await server.call('GET', `${PATH}?${query}`, undefined, headers);
  return (body as { secrets: { name: string }[] }).secrets.map(({ name }) => name);
}

interface Row {
  uid: string;
  ciphertext: Buffer;
  key_id: string;
  updated_at: Date;
}

async function rowOf(name: string): Promise<Row> {
  const [row] = await server.dataSource.query<Row[]>('SELECT * FROM secrets WHERE name = $1', [name]);
  if (row === undefined) throw new Error(`there is no secret ${name}`);
  return row;
}

const fieldsOf = ({ body }: Answer): string[] =>
  (body as { errors: { field: string }[] }).errors.map(({ field }) => field);

describe('a secret', () => {
  it('is kept, and its value comes out of the port alone', async () => {
    const name = nameOf();
    const { status, body } = await create({ name, value: VALUE });
    expect(status).toBe(201);
    expect(body).toEqual({
      name,
      scope: { type: 'Team', uid: team },
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown,
    });
    expect((await server.call('GET', PATH)).body).toEqual({
      secrets: expect.arrayContaining([body]) as unknown,
    });
    expect(await valuesOf([name, 'NOT_THERE', 'NOT_THERE'])).toEqual({
      values: { [name]: VALUE },
      missing: ['NOT_THERE'],
    });
    expect(await valuesOf([])).toEqual({ values: {}, missing: [] });
    const secrets = server.app.get(Secrets);
    const database = server.app.get(Database);
    expect(await secrets.exists(database, team, name)).toBe(true);
    expect(await secrets.exists(database, team, 'NOT_THERE')).toBe(false);
    expect(await secrets.exists(database, randomUUID(), name)).toBe(false);
  });

  it('takes a new value and a later time', async () => {
    const name = await created();
    const before = await rowOf(name);
    const answer = await server.call('PUT', `${PATH}/${name}`, { value: 'another' });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ name, scope: { type: 'Team', uid: team } });
    expect((await rowOf(name)).updated_at.getTime()).toBeGreaterThan(before.updated_at.getTime());
    expect((await valuesOf([name])).values).toEqual({ [name]: 'another' });
  });

  it('is gone when it was deleted', async () => {
    const name = await created();
    const deleted = await server.call('DELETE', `${PATH}/${name}`);
    expect([deleted.status, deleted.body]).toEqual([204, '']);
    expect((await server.call('DELETE', `${PATH}/${name}`)).status).toBe(404);
    expect((await valuesOf([name])).missing).toEqual([name]);
    expect((await create({ name, value: 'x' })).status).toBe(201);
  });

  it.each([1, 65_536])('may have %d bytes', async (bytes) => {
    const name = await created('x'.repeat(bytes));
    expect((await valuesOf([name])).values[name]).toHaveLength(bytes);
  });

  it('has one name: of two creates at once one is refused', async () => {
    for (let round = 0; round < 5; round++) {
      const name = nameOf();
      const answers = await Promise.all(['a', 'b'].map((value) => create({ name, value })));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
      const refused = answers.find(({ status }) => status === 409);
      expect(refused?.body).toMatchObject({ error_code: 'conflict', retryable: false });
    }
  });

  it.each(['PUT', 'DELETE'])('that is not there is a 404 for %s', async (method) => {
    const body = method === 'PUT' ? { value: 'x' } : undefined;
    for (const name of ['NOT_THERE', 'not-a-name', '%00', 'x'.repeat(129), '1', 'PATH']) {
      const answer = await server.call(method, `${PATH}/${name}`, body);
      expect([name, answer.status]).toEqual([name, 404]);
    }
  });
});

describe('what is refused', () => {
  it.each<[object | string, string]>([
    [{ value: 'x' }, 'name'],
    [{ name: 'A' }, 'value'],
    [{ name: '', value: 'x' }, 'name'],
    [{ name: '1A', value: 'x' }, 'name'],
    [{ name: 'A-B', value: 'x' }, 'name'],
    [{ name: 'A\n', value: 'x' }, 'name'],
    [{ name: 'Ä', value: 'x' }, 'name'],
    [{ name: 7, value: 'x' }, 'name'],
    [{ name: 'x'.repeat(129), value: 'x' }, 'name'],
    [{ name: 'A', value: '' }, 'value'],
    [{ name: 'A', value: null }, 'value'],
    [{ name: 'A', value: 7 }, 'value'],
    [{ name: 'A', value: ['x'] }, 'value'],
    [{ name: 'A', value: 'a\0b' }, 'value'],
    ['{"name":"A","value":"\\ud800"}', 'value'],
    [{ name: 'A', value: 'x'.repeat(65_537) }, 'value'],
    [{ name: 'A', value: 'ü'.repeat(32_769) }, 'value'],
    [{ name: 'A', value: 'x', team: 'yes' }, 'team'],
    [{ name: 'A', value: 'x', key_id: 'y' }, 'key_id'],
  ])('%# is a 400 that names the field', async (body, field) => {
    const answer = await server.call('POST', PATH, body);
    expect(answer.status).toBe(400);
    expect(fieldsOf(answer)).toEqual([field]);
  });

  it.each([
    ...['PATH', 'path', 'HOME', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'NODE_OPTIONS'],
    ...['BASH_ENV', 'ENV', 'IFS', 'GIT_SSH_COMMAND', 'WARP_API_KEY', 'OZ_RUN_ID', 'TASK_ID', '__proto__'],
  ])('the reserved name %s is a 400', async (name) => {
    const answer = await create({ name, value: 'x' });
    expect(answer.status).toBe(400);
    expect(fieldsOf(answer)).toEqual(['name']);
  });

  it.each(['GITHUB_TOKEN', 'PATHS', 'ENVIRONMENT', 'ANTHROPIC_API_KEY', '_', 'constructor'])(
    'but %s is not reserved',
    async (name) => {
      expect((await create({ name, value: 'x' })).status).toBe(201);
      expect(await valuesOf([name])).toEqual({ values: { [name]: 'x' }, missing: [] });
    },
  );

  it.each(['team=yes', 'team=', 'team=true&team=false'])('the query %s is a 400', async (query) => {
    expect(fieldsOf(await server.call('GET', `${PATH}?${query}`))).toEqual(['team']);
    expect(fieldsOf(await server.call('DELETE', `${PATH}/A?${query}`))).toEqual(['team']);
  });

  it('a secret over the limit is a 403, and a name that is taken stays a 409', async () => {
    const full = await insertTeam(server.dataSource);
    const { headers } = await insertUser(server.dataSource, { teams: [full] });
    await server.dataSource.query(
      `INSERT INTO secrets (uid, team_uid, name, ciphertext, key_id)
       SELECT gen_random_uuid(), $1, 'S' || n, '', '' FROM generate_series(1, 995) n`,
      [full],
    );
    const wanted = Array.from({ length: 15 }, (_, index) => `A${String(index)}`);
    const answers = await Promise.all(wanted.map((name) => create({ name, value: 'x' }, headers)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(10);
    expect(answers.find(({ status }) => status === 403)?.body).toMatchObject({
      error_code: 'budget_exceeded',
    });
    expect((await create({ name: 'S1', value: 'x' }, headers)).status).toBe(409);
    expect((await create({ name: 'A', value: 'x', team: false }, headers)).status).toBe(201);
    await server.dataSource.query('DELETE FROM secrets WHERE team_uid = $1', [full]);
  });
});

describe('whose secret it is', () => {
  let blue: string;
  let ofBlue: TestUser;
  let ofBoth: TestUser;

  beforeAll(async () => {
    blue = await insertTeam(server.dataSource, 'Blue');
    ofBlue = await insertUser(server.dataSource, { teams: [blue] });
    ofBoth = await insertUser(server.dataSource, { teams: [blue, team] });
  });

  it('teams know nothing of each other', async () => {
    const name = await created();
    expect(await names('', ofBlue.headers)).not.toContain(name);
    expect((await server.call('PUT', `${PATH}/${name}`, { value: 'x' }, ofBlue.headers)).status).toBe(404);
    expect((await server.call('DELETE', `${PATH}/${name}`, undefined, ofBlue.headers)).status).toBe(404);
    expect((await create({ name, value: 'blue' }, ofBlue.headers)).status).toBe(201);
    expect((await valuesOf([name])).values).toEqual({ [name]: VALUE });
    expect((await valuesOf([name], blue)).values).toEqual({ [name]: 'blue' });
  });

  it('a person has secrets of their own, of the same name even, which no execution gets', async () => {
    const name = await created();
    expect((await create({ name, value: 'mine', team: false })).body).toMatchObject({
      scope: { type: 'User' },
    });
    expect((await names()).filter((found) => found === name)).toHaveLength(2);
    expect((await names('team=false')).filter((found) => found === name)).toHaveLength(1);
    expect((await valuesOf([name])).values).toEqual({ [name]: VALUE });
    expect((await server.call('PUT', `${PATH}/${name}?team=false`, { value: 'x' })).body).toMatchObject({
      scope: { type: 'User' },
    });
    expect((await server.call('PUT', `${PATH}/${name}`, { value: 'x', team: false })).body).toMatchObject({
      scope: { type: 'User' },
    });
    expect((await server.call('DELETE', `${PATH}/${name}?team=false`)).status).toBe(204);
    expect(await names('team=false')).not.toContain(name);
    expect((await valuesOf([name])).values).toEqual({ [name]: VALUE });
  });

  it('who belongs to two teams says for which they act', async () => {
    const name = await created(VALUE, { ...ofBoth.headers, 'X-Team-Uid': team });
    expect(await names('', { ...ofBoth.headers, 'X-Team-Uid': blue })).not.toContain(name);
    expect(await names('team=true', { ...ofBoth.headers, 'X-Team-Uid': team })).toContain(name);
    expect(await names('', ofBoth.headers)).toEqual([]);
    for (const [method, path, body] of [
      ['POST', PATH, { name, value: 'x', team: true }],
      ['GET', `${PATH}?team=true`, undefined],
      ['PUT', `${PATH}/${name}?team=true`, { value: 'x' }],
      ['DELETE', `${PATH}/${name}?team=true`, undefined],
    ] as const) {
      expect(fieldsOf(await server.call(method, path, body, ofBoth.headers))).toEqual(['team']);
    }
  });

  it('whoever has no key has none', async () => {
    expect((await server.call('GET', PATH, undefined, { Authorization: '' })).status).toBe(401);
  });
});

describe('where the value is', () => {
  it('not in the database', async () => {
    const name = await created();
    const { ciphertext } = await rowOf(name);
    expect(ciphertext.includes('hunter2')).toBe(false);
    const [dump] = await server.dataSource.query<{ text: string }[]>(
      `SELECT string_agg(s::text || encode(ciphertext, 'escape'), ' ') AS text FROM secrets s`,
    );
    expect(dump?.text).toContain(name);
    expect(dump?.text).not.toContain('hunter2');
  });

  it('not where its ciphertext is put in the place of another: neither opens', async () => {
    const [one, two] = [await created('one'), await created('two')];
    const { uid } = await rowOf(one);
    const { ciphertext } = await rowOf(two);
    await server.dataSource.query('UPDATE secrets SET ciphertext = $2 WHERE uid = $1', [uid, ciphertext]);
    const error: unknown = await valuesOf([one]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Problem);
    expect(error).toMatchObject({ code: 'resource_unavailable', retryable: false });
    expect((error as Problem).detail).toContain(one);
    expect(logged.at(-1)).toContain('altered or moved');
    expect((await valuesOf([two])).values).toEqual({ [two]: 'two' });
  });

  it('in no answer and in no line of the log', async () => {
    const name = nameOf();
    const from = logged.length;
    const answers = [
      await create({ name, value: VALUE }),
      await create({ name, value: VALUE }),
      await create({ name: 'PATH', value: VALUE }),
      await create({ name, value: VALUE, extra: VALUE }),
      await create({ name, value: VALUE.repeat(10_000) }),
      await create({ name, value: `${VALUE}\0` }),
      await create({ name, value: [VALUE] }),
      await server.call('POST', PATH, `{"name":"A","value":"${VALUE}" oops}`),
      await server.call('POST', PATH, `{"name":"A","value":"${VALUE}`),
      await server.call('PUT', `${PATH}/${name}`, { value: VALUE }),
      await server.call('PUT', `${PATH}/NOT_THERE`, { value: VALUE }),
      await server.call('GET', PATH),
    ];
    await server.dataSource.query('ALTER TABLE secrets RENAME TO secrets_away');
    answers.push(await create({ name: nameOf(), value: VALUE }));
    answers.push(await server.call('PUT', `${PATH}/${name}`, { value: VALUE }));
    await server.dataSource.query('ALTER TABLE secrets_away RENAME TO secrets');
    expect(answers.map(({ status }) => status)).toEqual([
      ...[201, 409, 400, 400, 400, 400, 400, 400, 400, 200, 404, 200],
      ...[500, 500],
    ]);
    for (const { body, headers } of answers) {
      expect(JSON.stringify(body)).not.toContain('hunter2');
      expect(JSON.stringify([...headers])).not.toContain('hunter2');
    }
    expect(logged.slice(from).join('\n')).toContain('request failed');
    expect(logged.join('\n')).not.toContain('hunter2');
    expect(logged.join('\n')).not.toContain(ADMIN_KEY);
  });
});

describe('when the encryption key changes', () => {
  it('a value that is set meanwhile is not undone', async () => {
    const name = await created('old');
    const { uid, ciphertext, key_id: keyId } = await rowOf(name);
    const before = { uid, name, ciphertext, keyId };
    const after = server.app.get(SecretBox).seal(`secret:${uid}`, 'old');
    const reseal = () =>
      server.app
        .get(Transactor)
        .run((tx) => server.app.get(SecretRepository).reseal(tx, [{ before, after }]));
    await server.call('PUT', `${PATH}/${name}`, { value: 'new' });
    expect(await reseal()).toBe(0);
    expect((await valuesOf([name])).values).toEqual({ [name]: 'new' });
    await server.call('DELETE', `${PATH}/${name}`);
    expect(await reseal()).toBe(0);
  });

  it('everything is encrypted with the new one at the start, a few at a time, and reads as before', async () => {
    const old = await startTestApp({ ROLES: 'api' });
    const oldTeam = await firstTeam(old.dataSource);
    const stored = Array.from({ length: 120 }, (_, index) => `S_${String(index)}`);
    for (const name of stored) await old.call('POST', PATH, { name, value: `${name} ${VALUE}` });
    const rows = () => old.dataSource.query<Row[]>('SELECT * FROM secrets ORDER BY uid');
    const before = await rows();
    // One that does not open must not keep the others, or the service, from their work.
    const damaged = before.at(-1);
    await old.dataSource.query(`UPDATE secrets SET ciphertext = '\\x00' WHERE uid = $1`, [damaged?.uid]);

    const newKey = randomBytes(32).toString('base64');
    const oldKey = old.encryptionKey.toString('base64');
    const replica = await startTestApp({ ENCRYPTION_KEY: newKey, ENCRYPTION_KEY_PREVIOUS: oldKey }, old);
    const after = await rows();
    expect(before).toHaveLength(120);
    for (const [index, row] of after.entries()) {
      const same = row.uid === damaged?.uid;
      expect(row.key_id === before[index]?.key_id).toBe(same);
      expect(row.ciphertext.equals(before[index]?.ciphertext ?? row.ciphertext)).toBe(false);
      expect(row.updated_at).toEqual(before[index]?.updated_at);
    }
    const readable = stored.filter((name) => name !== 'S_119');
    expect(await valuesOf(readable, oldTeam, replica)).toEqual({
      values: Object.fromEntries(readable.map((name) => [name, `${name} ${VALUE}`])),
      missing: [],
    });

    // A replica that still has the old key alone writes under it: the new one reads that, and the old one cannot read what is new.
    await old.call('POST', PATH, { name: 'LATE', value: VALUE });
    expect((await valuesOf(['LATE'], oldTeam, replica)).values).toEqual({ LATE: VALUE });
    await expect(valuesOf(['S_1'], oldTeam, old)).rejects.toMatchObject({ code: 'resource_unavailable' });
    await replica.app.get(Reencryption).tick();
    const keyOf = async (name: string) =>
      (await rows()).find((row) => 'name' in row && row.name === name)?.key_id;
    expect(await keyOf('LATE')).toBe(await keyOf('S_1'));
    await replica.close();

    // Without the role that cleans up, nothing is encrypted anew.
    await old.call('POST', PATH, { name: 'LAST', value: VALUE });
    const env = { ENCRYPTION_KEY: newKey, ENCRYPTION_KEY_PREVIOUS: oldKey };
    await (await startTestApp({ ...env, ROLES: 'api' }, old)).close();
    expect(await keyOf('LAST')).toBe(before[0]?.key_id);
    await (await startTestApp(env, old)).close();
    expect(await keyOf('LAST')).toBe(await keyOf('S_1'));

    const last = await startTestApp({ ENCRYPTION_KEY: newKey, ROLES: 'api' }, old);
    expect((await valuesOf(['LAST', 'S_118'], oldTeam, last)).values).toEqual({
      LAST: VALUE,
      S_118: `S_118 ${VALUE}`,
    });
    await last.close();
    await old.close();
  });
});
