import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../src/database/embedded-postgres.js';
import { isAlive } from './support/processes.js';

const BUILD = pathToFileURL(path.resolve('dist/database/embedded-postgres.js')).href;

/** A service in a process of its own, as far as its database goes: tells what it has, and stops on SIGTERM. */
const HOLDER = `
  const { startEmbeddedPostgres } = await import(${JSON.stringify(BUILD)});
  const { url, adopted, pid, stop } = await startEmbeddedPostgres({
    dataDir: process.argv[1], database: 'app', log: (line) => console.log(JSON.stringify({ line })),
  });
  process.once('SIGTERM', async () => { await stop(); process.exit(0); });
  setInterval(() => {}, 1_000);
  console.log(JSON.stringify({ url, adopted, pid }));
`;

interface Holder {
  url: string;
  adopted: boolean;
  pid: number;
  process: ChildProcess;
}

describe('the embedded PostgreSQL', () => {
  let directory: string;
  let dataDir: string;
  let server: EmbeddedPostgres | undefined;
  let holders: ChildProcess[];

  beforeAll(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'millwright-embedded-'));
    chmodSync(directory, 0o711); // as root the server runs under another account
  });

  beforeEach(() => {
    dataDir = path.join(directory, 'shared');
    holders = [];
  });

  afterEach(async () => {
    for (const holder of holders) holder.kill('SIGKILL');
    await server?.stop();
    server = undefined;
    const left = serverPid();
    if (left !== undefined && isAlive(left)) process.kill(left, 'SIGQUIT');
  });

  afterAll(() => {
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });

  /** Creating a cluster takes most of a test's time, so only those about the first start have one of their own. */
  const useFreshDirectory = (name: string): void => void (dataDir = path.join(directory, name));

  const start = async (): Promise<EmbeddedPostgres> =>
    (server = await startEmbeddedPostgres({ dataDir, database: 'app', log: () => undefined }));

  const clusterFile = (...names: string[]): string => path.join(dataDir, 'postgres-18', ...names);

  function serverPid(): number | undefined {
    const file = clusterFile('data', 'postmaster.pid');
    return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : undefined;
  }

  function spawnHolder(): ChildProcess {
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', HOLDER, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    holders.push(holder);
    return holder;
  }

  async function hold(): Promise<Holder> {
    const holder = spawnHolder();
    for await (const line of createInterface({ input: holder.stdout! })) {
      const said = JSON.parse(line) as { line: string } | Omit<Holder, 'process'>;
      if ('url' in said) return { ...said, process: holder };
    }
    throw new Error('The holder ended before it had a server.');
  }

  it('creates a cluster that only this account can open, and keeps data and port over a restart', async () => {
    const first = await start();
    expect(first.adopted).toBe(false);
    expect(await query(first.url, 'CREATE TABLE restarted AS SELECT 42 AS answer')).toEqual([]);
    expect(
      await query(first.url, `SELECT lower('ÉCOLE') AS lower, current_setting('fsync') AS fsync`),
    ).toEqual([{ lower: 'école', fsync: 'on' }]);
    expect(statSync(clusterFile('password')).mode & 0o777).toBe(0o600);
    const forged = new URL(first.url);
    forged.password = 'wrong';
    await expect(query(forged.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);

    await first.stop();
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    expect(serverPid()).toBeUndefined();

    const second = await start();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT answer FROM restarted')).toEqual([{ answer: 42 }]);
  });

  it('adopts the server of a killed process, and starts another when both were killed', async () => {
    const first = await hold();
    await query(first.url, 'CREATE TABLE adopted AS SELECT 42 AS answer');
    await kill(first.process);
    expect(isAlive(first.pid)).toBe(true);

    const second = await hold();
    expect(second).toMatchObject({ adopted: true, pid: first.pid, url: first.url });
    process.kill(second.pid, 'SIGKILL');
    await kill(second.process);

    const third = await start();
    expect(third.adopted).toBe(false);
    expect(await query(third.url, 'SELECT answer FROM adopted')).toEqual([{ answer: 42 }]);
    await third.stop();
    expect(isAlive(third.pid)).toBe(false);
  });

  it('lets two processes that start at once share one server, which the last of them stops', async () => {
    useFreshDirectory('concurrent');
    const [one, other] = await Promise.all([hold(), hold()]);
    expect(other.url).toBe(one.url);
    expect([one.adopted, other.adopted].sort()).toEqual([false, true]);

    one.process.kill('SIGTERM');
    await once(one.process, 'exit');
    expect(await query(other.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);

    other.process.kill('SIGTERM');
    await once(other.process, 'exit');
    expect(isAlive(other.pid)).toBe(false);
  });

  it('recovers from a crash in the middle of its first start', async () => {
    useFreshDirectory('crashed');
    const holder = spawnHolder();
    const unfinished = await until(() =>
      existsSync(dataDir) ? readdirSync(dataDir).find((name) => name.includes('.init-')) : undefined,
    );
    await until(() => existsSync(path.join(dataDir, unfinished, 'data', 'base')) || undefined);
    await kill(holder);
    expect(existsSync(clusterFile())).toBe(false);

    const { url } = await start();
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(readdirSync(dataDir)).toEqual(['postgres-18']);
  });

  it('sets aside, without deleting it, a cluster folder that is not complete', async () => {
    useFreshDirectory('incomplete');
    mkdirSync(clusterFile('data'), { recursive: true });
    writeFileSync(clusterFile('data', 'mine'), 'mine');

    await start();
    const aside = readdirSync(dataDir).find((name) => name.startsWith('postgres-18.incomplete-'));
    expect(readFileSync(path.join(dataDir, aside!, 'data', 'mine'), 'utf8')).toBe('mine');
  });

  it('is not held up by a pid file whose number another process has now', async () => {
    await (await start()).stop();
    const lines = [process.pid, clusterFile('data'), 1, 1, '', '127.0.0.1', '1 1', 'ready'];
    writeFileSync(clusterFile('data', 'postmaster.pid'), `${lines.join('\n')}\n`);

    const { url, adopted } = await start();
    expect(adopted).toBe(false);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('says what PostgreSQL said when it does not start', async () => {
    const start = startEmbeddedPostgres({
      ...{ dataDir, database: 'app', log: () => undefined },
      settings: { max_connections: 'many' },
    });
    await expect(start).rejects.toThrow(/invalid value for parameter "max_connections"[^]*DATABASE_URL/);
  });
});

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function until<T>(find: () => T | undefined): Promise<T> {
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    const found = find();
    if (found !== undefined) return found;
    await delay(2);
  }
  throw new Error('It did not happen within 10 s.');
}
