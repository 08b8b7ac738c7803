import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  lchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import {
  EmbeddedPostgresError,
  errorCode,
  locateBinaries,
  renameUnlessTaken,
  type Binaries,
} from './binaries.js';
import {
  handOver,
  isRoot,
  minimalEnvironment,
  type Account,
  type Command,
  type Launcher,
} from './launcher.js';

const INITDB_TIMEOUT = 120_000;

export interface Cluster {
  readonly dataDir: string;
  /** `postgres-<major>`: password, port, postgres.log and `data`, renamed into place as a whole once complete. */
  readonly dir: string;
  readonly data: string;
  readonly binaries: Binaries;
}

export function openCluster(dir: string): Cluster {
  // Root's server runs under another account, which has to pass through but need not list.
  mkdirSync(dir, { recursive: true, mode: isRoot ? 0o711 : 0o700 });
  const dataDir = realpathSync(path.resolve(dir));
  const binaries = locateBinaries();
  const clusterDir = path.join(dataDir, `postgres-${binaries.major}`);
  const cluster = { dataDir, dir: clusterDir, data: path.join(clusterDir, 'data'), binaries };
  const owner = ownerOf(clusterDir);
  if (owner && process.getuid && !isRoot && owner.uid !== process.getuid()) {
    throw new EmbeddedPostgresError(
      `${cluster.dir} belongs to the account with uid ${owner.uid}. Run as that account, or choose another DATA_DIR.`,
    );
  }
  return cluster;
}

/** Initialises aside and renames: a crash in between leaves a folder that nobody takes for a cluster. */
export async function initialise(
  cluster: Cluster,
  launcher: Launcher,
  { sync }: { sync: boolean },
): Promise<void> {
  const aside = `${cluster.dir}.init-${process.pid}-${randomBytes(3).toString('hex')}`;
  const data = path.join(aside, 'data');
  const password = path.join(aside, 'password');
  try {
    mkdirSync(aside);
    chmodSync(aside, isRoot ? 0o711 : 0o700);
    mkdirSync(data, { mode: 0o700 });
    writeFileSync(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
    if (launcher.owner) for (const file of [data, password]) handOver(file, launcher.owner);
    await runInitdb(
      launcher.command('initdb', [
        ...['-D', data, '-U', 'postgres', `--pwfile=${password}`, '--auth=scram-sha-256'],
        // The built-in provider: Unicode-aware lower() and text search, code point order, and indexes that do
        // not break when the C library's collations change. --locale=C covers what is left to that library.
        ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
        ...['--no-instructions', ...(sync ? [] : ['--no-sync'])],
      ]),
    );
    keepOwner(aside, password);
    if (existsSync(cluster.dir) && !isInitialised(cluster.dir)) {
      renameSync(cluster.dir, `${cluster.dir}.incomplete-${Date.now()}`); // not ours to delete
    }
    renameUnlessTaken(aside, cluster.dir);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

async function runInitdb({ file, args, options }: Command): Promise<void> {
  const initdb = spawn(file, args, {
    ...options,
    cwd: path.parse(process.cwd()).root,
    env: minimalEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: INITDB_TIMEOUT,
    windowsHide: true,
  });
  let output = '';
  initdb.stderr.setEncoding('utf8').on('data', (chunk: string) => (output = (output + chunk).slice(-4_000)));
  const [status] = (await once(initdb, 'close')) as [number | null];
  if (status !== 0) {
    throw new EmbeddedPostgresError(`initdb failed (${status ?? 'timeout'}): ${output.trim()}`);
  }
}

/** Removes what crashed initialisations left; a live one is younger than its time limit. */
export function removeUnfinished({ dataDir, dir }: Cluster): void {
  for (const name of readdirSync(dataDir)) {
    const pid = /\.init-(\d+)-/.exec(name)?.[1];
    const file = path.join(dataDir, name);
    if (pid === undefined || !file.startsWith(dir)) continue;
    const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (age > INITDB_TIMEOUT + 10_000 || !isAlive(Number(pid))) {
      // What its process had started may write on for a moment.
      rmSync(file, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}

export const passwordPath = ({ dir }: Cluster): string => path.join(dir, 'password');
const portPath = ({ dir }: Cluster): string => path.join(dir, 'port');
export const logPath = ({ dir }: Cluster): string => path.join(dir, 'postgres.log');

export const isInitialised = (dir: string): boolean => existsSync(path.join(dir, 'data', 'PG_VERSION'));
export const readPassword = (cluster: Cluster): string => readFileSync(passwordPath(cluster), 'utf8').trim();

export function ownerOf(file: string): Account | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && { uid: stats.uid, gid: stats.gid };
}

/** What root writes into a user's cluster must stay the user's. */
export function keepOwner(dir: string, file: string): void {
  const owner = ownerOf(dir);
  if (isRoot && owner) lchownSync(file, owner.uid, owner.gid);
}

export function rememberedPort(cluster: Cluster): number {
  try {
    return Number(readFileSync(portPath(cluster), 'utf8')) || 0;
  } catch {
    return 0;
  }
}

export function rememberPort(cluster: Cluster, port: number): void {
  if (rememberedPort(cluster) === port) return;
  const written = `${portPath(cluster)}.${process.pid}`;
  writeFileSync(written, String(port), { mode: 0o600 });
  keepOwner(cluster.dir, written);
  renameSync(written, portPath(cluster));
}

/** The last lines of an open file. */
export function readEnd(file: number): string {
  const buffer = Buffer.alloc(8_192);
  const length = readSync(file, buffer, 0, buffer.length, Math.max(0, fstatSync(file).size - buffer.length));
  return buffer.toString('utf8', 0, length).trimEnd().split('\n').slice(-15).join('\n');
}

export function readLogEnd(cluster: Cluster): string {
  let file: number | undefined;
  try {
    file = openSync(logPath(cluster), 'r');
    return readEnd(file);
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
