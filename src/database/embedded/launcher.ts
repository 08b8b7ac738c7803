import { spawnSync } from 'node:child_process';
import { lchownSync, lstatSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { inheritedEnvironment } from '../../config/host-environment.js';
import { binaryPath, copyBinaries, EmbeddedPostgresError, type Binaries } from './binaries.js';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface Command {
  readonly file: string;
  readonly args: string[];
  readonly options: Partial<Account>;
}

/** A way to run PostgreSQL's programs that has been seen to work here. */
export interface Launcher {
  readonly how: string;
  /** Who must own the cluster's files; undefined where nothing needs to be handed over. */
  readonly owner: Account | undefined;
  command(program: 'postgres' | 'initdb', args: string[]): Command;
}

export const isRoot = process.getuid?.() === 0;

/**
 * PostgreSQL refuses to run as root, so root needs a detour. In order of preference: an unprivileged account;
 * a user namespace in which root goes by another number (files under a 0700 home stay reachable); the account
 * with a copy of the binaries in the data directory; the account with the one capability that gets it past
 * directory permissions, for containers whose seccomp profile forbids user namespaces.
 *
 * An account that owns the cluster already is kept: a user's own cluster started once with sudo stays theirs.
 */
export function chooseLauncher(binaries: Binaries, dataDir: string, present: Account | undefined): Launcher {
  const failures: string[] = [];
  const works = (launcher: Launcher): boolean => {
    const { file, args, options } = launcher.command('postgres', ['--version']);
    const probe = spawnSync(file, args, {
      ...options,
      cwd: '/',
      env: minimalEnvironment(),
      encoding: 'utf8',
      timeout: 10_000,
    });
    if (probe.status === 0) return true;
    failures.push(`${launcher.how}: ${(probe.error?.message ?? probe.stderr).trim()}`);
    return false;
  };

  for (const candidate of isRoot ? rootsWays(binaries, dataDir, present) : [direct(binaries)]) {
    if (works(candidate)) return candidate;
  }
  if (usesMusl()) {
    throw new EmbeddedPostgresError('The embedded PostgreSQL needs glibc; this system uses musl (Alpine).');
  }
  const advice = isRoot
    ? `PostgreSQL does not run as root, and no other account can reach ${dataDir}. Set DATA_DIR to a folder that all accounts can enter.`
    : 'The embedded PostgreSQL does not run here.';
  throw new EmbeddedPostgresError([advice, ...failures].join('\n  '));
}

/** The service's own environment holds secrets, and the server's is readable to all of its account. */
export function minimalEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'SystemDrive'];
  return { ...inheritedEnvironment(kept), LC_ALL: 'C' };
}

/** Gives a file or tree to its new owner; lchown, because the previous owner may have planted links in it. */
export function handOver(file: string, owner: Account): void {
  lchownSync(file, owner.uid, owner.gid);
  if (!lstatSync(file).isDirectory()) return;
  for (const name of readdirSync(file)) handOver(path.join(file, name), owner);
}

const direct = (binaries: Binaries): Launcher => ({
  how: 'directly',
  owner: undefined,
  command: (program, args) => ({ file: binaryPath(binaries, program), args, options: {} }),
});

/** A generator, so that the copy is made only when what comes before it has failed. */
function* rootsWays(binaries: Binaries, dataDir: string, present: Account | undefined): Generator<Launcher> {
  const account = present && present.uid !== 0 ? present : unprivilegedAccount();
  const reachable = account !== undefined && canEnter(dataDir, account);
  if (account && reachable) yield asAccount(binaries, account);
  yield through(
    ['unshare', '--user', '--map-user=65534', '--map-group=65534'],
    'in a user namespace',
    binaries,
    { uid: 0, gid: 0 },
  );
  if (account && reachable) yield asAccount(copyBinaries(binaries, dataDir), account);
  if (account) {
    const { uid, gid } = account;
    const ids = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
    // The secure bit is for access(2), which otherwise answers as if the capability were not there.
    const capability = [
      '--inh-caps=+dac_override',
      '--ambient-caps=+dac_override',
      '--securebits=+no_setuid_fixup',
    ];
    yield through(
      ['setpriv', ...ids, ...capability, '--'],
      `as uid ${uid} with dac_override`,
      binaries,
      account,
    );
  }
}

const asAccount = (binaries: Binaries, account: Account): Launcher => ({
  how: `as uid ${account.uid}`,
  owner: account,
  command: (program, args) => ({ file: binaryPath(binaries, program), args, options: { ...account } }),
});

function through(wrapper: string[], how: string, binaries: Binaries, owner: Account): Launcher {
  const [file = '', ...options] = wrapper;
  return {
    how,
    owner,
    command: (program, args) => ({
      file,
      args: [...options, binaryPath(binaries, program), ...args],
      options: {},
    }),
  };
}

function unprivilegedAccount(): Account | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', '_postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    // macOS writes nobody as -2, which spawn and chown do not both accept.
    if (Number(uid) > 0 && Number(gid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

/** By permission bits. An ACL that says otherwise costs a detour or shows in the server's own message. */
function canEnter(dir: string, { uid, gid }: Account): boolean {
  for (let current = realpathSync(dir); ; current = path.dirname(current)) {
    const stats = statSync(current);
    const bit = stats.uid === uid ? 0o100 : stats.gid === gid ? 0o010 : 0o001;
    if (!(stats.mode & bit)) return false;
    if (current === path.dirname(current)) return true;
  }
}

/** Asked only after a failure: on a glibc system with musl installed beside it the files alone would mislead. */
function usesMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime === undefined;
}
