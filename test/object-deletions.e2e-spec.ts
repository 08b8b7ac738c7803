import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { SweepArtifacts } from '../src/artifacts/application/sweep-artifacts.js';
import { AppConfig } from '../src/config/app-config.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { ObjectDeletions } from '../src/kernel/storage/object-deletions.js';
import { ObjectStorage } from '../src/kernel/storage/object-storage.js';
import { SweepObjects } from '../src/kernel/storage/sweep-objects.js';
import { insertTeam, insertUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import { ADMIN_KEY, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let storage: ObjectStorage;
let runs: RunsClient;

beforeAll(async () => {
  // Nothing sweeps but the tests.
  server = await startTestApp({ ROLES: 'api,dispatcher' });
  storage = server.app.get(ObjectStorage);
  runs = new RunsClient(server);
});
afterAll(async () => {
  await server.close();
});
beforeEach(async () => {
  await server.dataSource.query('DELETE FROM object_deletions');
});

const store = async (key: string): Promise<string> => {
  await storage.put(key, Readable.from([Buffer.from('x')]), 1);
  return key;
};
const isStored = async (key: string): Promise<boolean> => (await storage.stat(key)) !== undefined;
const sweep = (): Promise<void> => server.app.get(SweepObjects).execute();
/** A sweeper with another storage, or of another replica. */
const sweeperOn = (other: Partial<ObjectStorage>): SweepObjects =>
  new SweepObjects(
    server.app.get(ObjectDeletions),
    other as ObjectStorage,
    server.app.get(Transactor),
    server.app.get(AppConfig),
  );
const due = async (): Promise<string[]> =>
  (
    await server.dataSource.query<{ object_key: string }[]>(
      'SELECT object_key FROM object_deletions WHERE due_at <= now()::timestamptz(3)',
    )
  ).map((row) => row.object_key);

/** A run with an object of every kind. @returns their keys */
async function runWithObjects(): Promise<{ runId: string; keys: string[] }> {
  const attachment = { file_name: 'a.txt', mime_type: 'text/plain', data: 'eA==' };
  const runId = await runs.create({ attachments: [attachment] });
  const [attached] = await server.dataSource.query<{ object_key: string }[]>(
    'SELECT object_key FROM run_attachments WHERE run_id = $1',
    [runId],
  );
  const key = (kind: string) => `runs/${runId}/${kind}`;
  await server.dataSource.query(
    `INSERT INTO artifacts (uid, run_id, scope_uid, artifact_type, identity, data, object_key, size_bytes)
     SELECT gen_random_uuid(), id, team_uid, 'FILE', 'a', '{}', $2, 1 FROM runs WHERE id = $1`,
    [runId, await store(key('artifact'))],
  );
  await server.dataSource.query(
    `INSERT INTO artifact_uploads (uid, run_id, artifact_type, mime_type, object_key)
     VALUES (gen_random_uuid(), $1, 'FILE', 'text/plain', $2)`,
    [runId, await store(key('upload'))],
  );
  await server.dataSource.query(
    `INSERT INTO snapshot_files (id, run_id, execution_id, generation, file_name, mime_type, object_key)
     VALUES (gen_random_uuid(), $1, 1, -1, 'a', 'text/plain', $2)`,
    [runId, await store(key('snapshot'))],
  );
  const keys = [attached!.object_key, key('artifact'), key('upload'), key('snapshot')];
  for (const stored of keys) expect(await isStored(stored)).toBe(true);
  return { runId, keys };
}

describe('a run that goes', () => {
  it('takes its objects along, and no others', async () => {
    const gone = await runWithObjects();
    const kept = await runWithObjects();
    await server.dataSource.query('DELETE FROM runs WHERE id = $1', [gone.runId]);
    expect((await due()).sort()).toEqual([...gone.keys].sort());
    await sweep();
    for (const key of gone.keys) expect(await isStored(key)).toBe(false);
    for (const key of kept.keys) expect(await isStored(key)).toBe(true);
    expect(await due()).toEqual([]);
  });

  it('keeps them when its transaction is rolled back', async () => {
    const { runId, keys } = await runWithObjects();
    await expect(
      server.app.get(Transactor).run(async (tx) => {
        await tx.query('DELETE FROM runs WHERE id = $1', [runId]);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await due()).toEqual([]);
    await sweep();
    for (const key of keys) expect(await isStored(key)).toBe(true);
  });
});

describe('a snapshot of a terminal that another one replaces', () => {
  it('goes', async () => {
    const id = randomUUID();
    const [old, next] = [`conversations/${id}/1.blocks.json`, `conversations/${id}/2.blocks.json`];
    for (const key of [old, next]) await store(key);
    await server.dataSource.query(
      `INSERT INTO conversations (id, format, block_snapshot_key) VALUES ($1, 'millwright_script', $2)`,
      [id, old],
    );
    await server.dataSource.query('UPDATE conversations SET block_snapshot_key = $2 WHERE id = $1', [
      id,
      next,
    ]);
    await sweep();
    expect(await isStored(old)).toBe(false);
    expect(await isStored(next)).toBe(true);
  });
});

describe('a transcript that another one replaces', () => {
  it('goes, with the steps that were derived from it', async () => {
    const id = randomUUID();
    const [old, steps, next] = [
      `conversations/${id}/1.jsonl`,
      `conversations/${id}/1.jsonl.steps.json`,
      `conversations/${id}/2.jsonl`,
    ];
    for (const key of [old, steps, next]) await store(key);
    await server.dataSource.query(
      `INSERT INTO conversations (id, format, transcript_key, normalised_key) VALUES ($1, 'millwright_script', $2, $3)`,
      [id, old, steps],
    );
    await server.dataSource.query('UPDATE conversations SET transcript_key = $2 WHERE id = $1', [id, old]);
    expect(await due()).toEqual([]);
    await server.dataSource.query(
      'UPDATE conversations SET transcript_key = $2, normalised_key = NULL WHERE id = $1',
      [id, next],
    );
    await sweep();
    expect([await isStored(old), await isStored(steps), await isStored(next)]).toEqual([false, false, true]);
  });
});

describe('the sweeper', () => {
  const order = async (...keys: string[]): Promise<void> => {
    for (const key of keys)
      await server.dataSource.query('INSERT INTO object_deletions (object_key) VALUES ($1)', [
        await store(key),
      ]);
  };

  it('carries out again what a crash interrupted', async () => {
    const key = `crash/${randomUUID()}`;
    await order(key);
    // Between the deletion of the object and the commit, the database is lost.
    const crashing = sweeperOn({
      delete: async (deleted) => {
        await storage.delete(deleted);
        await server.dataSource.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'idle in transaction'`,
        );
      },
    });
    await expect(crashing.execute()).rejects.toThrow();
    expect(await isStored(key)).toBe(false);
    expect(await due()).toEqual([key]);
    await sweep();
    expect(await due()).toEqual([]);
  });

  it('spares an object that a row names after all', async () => {
    const { keys } = await runWithObjects();
    await server.dataSource.query('INSERT INTO object_deletions SELECT unnest($1::text[])', [keys]);
    await sweep();
    for (const key of keys) expect(await isStored(key)).toBe(true);
    expect(await due()).toEqual([]);
  });

  it('is not held up by an object that cannot be deleted', async () => {
    const [bad, good] = [`bad/${randomUUID()}`, `good/${randomUUID()}`];
    await order(bad, good);
    await sweeperOn({
      delete: (key) => (key === bad ? Promise.reject(new Error('no')) : storage.delete(key)),
    }).execute();
    expect(await isStored(good)).toBe(false);
    expect(await due()).toEqual([]);
    await server.dataSource.query(`UPDATE object_deletions SET due_at = now() - interval '1 second'`);
    await sweep();
    expect(await isStored(bad)).toBe(false);
  });

  it('shares the work of 250 objects with another one, each done once', async () => {
    const prefix = `many/${randomUUID()}`;
    await server.dataSource.query(
      `INSERT INTO object_deletions SELECT $1::text || '/' || i FROM generate_series(1, 250) i`,
      [prefix],
    );
    const deleted: string[] = [];
    const sweeper = () =>
      sweeperOn({
        delete: async (key) => {
          deleted.push(key);
          await new Promise((resolve) => setTimeout(resolve, 1));
        },
      }).execute();
    await Promise.all([sweeper(), sweeper()]);
    // One may have found all locked by the other and ended.
    await sweeper();
    expect(deleted).toHaveLength(250);
    expect(new Set(deleted).size).toBe(250);
  });

  it('takes along what was put and not reported within a day', async () => {
    const { runId, keys } = await runWithObjects();
    await server.app.get(SweepArtifacts).execute();
    expect(await due()).toEqual([]);
    await server.dataSource.query(
      `UPDATE artifact_uploads SET created_at = now() - interval '25 hours' WHERE run_id = $1`,
      [runId],
    );
    await server.app.get(SweepArtifacts).execute();
    await sweep();
    const stored = await Promise.all(keys.map(isStored));
    expect(stored).toEqual([true, true, false, true]);
  });
});

describe('an object that nothing refers to', () => {
  const list = (headers?: Record<string, string>, query = '') =>
    server.call('GET', `/v1/storage/orphans${query}`, undefined, headers);
  const age = async (key: string): Promise<void> => {
    const then = Date.now() / 1000 - 7200;
    await utimes(join(server.dataDir, 'objects', key), then, then);
  };

  it('is shown to operators, an hour after it was stored', async () => {
    const { keys } = await runWithObjects();
    const orphan = await store(`orphans/${randomUUID()}`);
    const fresh = await store(`orphans/${randomUUID()}`);
    for (const key of [...keys, orphan]) await age(key);
    const { status, body } = await list();
    expect(status).toBe(200);
    const found = (body as { objects: { key: string }[] }).objects.map(({ key }) => key);
    expect(found).toContain(orphan);
    for (const key of [fresh, ...keys]) expect(found).not.toContain(key);
    const member = await insertUser(server.dataSource, {
      teams: [await insertTeam(server.dataSource)],
      role: 'admin',
    });
    expect((await list(member.headers)).status).toBe(403);
    expect((await list(undefined, '?cursor=x')).status).toBe(400);

    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(import.meta.dirname, '../dist/cli/main.js'), 'storage', 'orphans'],
      { env: { MILLWRIGHT_URL: server.url, MILLWRIGHT_API_KEY: ADMIN_KEY } },
    );
    expect(stdout).toContain(orphan);
    expect(stdout).not.toContain(fresh);
  });

  it('is found on whatever page it is', async () => {
    const prefix = 'zz-pages';
    await Promise.all(Array.from({ length: 1100 }, (_, index) => store(`${prefix}/${String(index)}`)));
    for (const name of ['0', '1099', '999']) await age(`${prefix}/${name}`);
    const found: string[] = [];
    let cursor: string | undefined = '';
    let pages = 0;
    while (cursor !== undefined) {
      const { body } = await list(undefined, cursor === '' ? '' : `?cursor=${cursor}`);
      const page = body as { objects: { key: string }[]; page_info: { next_cursor?: string } };
      found.push(...page.objects.map(({ key }) => key));
      cursor = page.page_info.next_cursor;
      pages += 1;
    }
    expect(pages).toBe(2);
    expect(found.filter((key) => key.startsWith(prefix))).toEqual(
      ['0', '1099', '999'].map((name) => `${prefix}/${name}`),
    );
  });
});
