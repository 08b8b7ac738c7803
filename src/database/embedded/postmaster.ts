import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { binaryPath, errorCode } from './binaries.js';
import { keepOwner, logPath, readEnd, rememberedPort, type Cluster } from './cluster.js';
import { minimalEnvironment, type Launcher } from './launcher.js';

const FAST_SHUTDOWN_TIMEOUT = 10_000;
const IMMEDIATE_SHUTDOWN_TIMEOUT = 5_000;
const POLL = 10;

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** Its own word that it accepts connections. */
  readonly ready: boolean;
  /** `foreign`: the number now belongs to a process that is not this cluster's server, or to a zombie. */
  readonly process: 'server' | 'gone' | 'foreign';
}

const pidFile = ({ data }: Cluster): string => path.join(data, 'postmaster.pid');

/** Reads postmaster.pid: pid, data directory, start, port, socket directory, address, memory key, status. */
export function readPostmaster(cluster: Cluster): Postmaster | undefined {
  let lines: string[];
  let age: number;
  try {
    lines = readFileSync(pidFile(cluster), 'utf8').split('\n');
    age = Date.now() - statSync(pidFile(cluster)).mtimeMs;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  const pid = Number(lines[0]);
  // Empty while it is written, and for ever after a power cut at that moment: PostgreSQL then refuses to start.
  if (!(pid > 0)) return { pid: 0, port: 0, ready: false, process: age > 5_000 ? 'foreign' : 'server' };
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready', process: inspect(cluster, pid) };
}

/**
 * A pid file outlives its server after a power cut or in a restarted container, where small numbers are soon
 * taken again. PostgreSQL would then refuse to start for as long as the unrelated process lives, so the
 * process behind the number is looked at, not only its existence.
 */
function inspect({ data }: Cluster, pid: number): Postmaster['process'] {
  if (process.platform !== 'linux') {
    try {
      process.kill(pid, 0);
      return 'server';
    } catch (error) {
      return errorCode(error) === 'ESRCH' ? 'gone' : 'foreign';
    }
  }
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return 'gone';
  }
  const state = stat.slice(stat.lastIndexOf(')') + 2)[0];
  if (!stat.includes('(postgres)') || state === 'Z' || state === 'X') return 'foreign';
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === data ? 'server' : 'foreign'; // it works in its data directory
  } catch {
    return 'server'; // not ours to inspect (no ptrace capability): the connection will tell
  }
}

/**
 * Takes away a pid file that names a process which is not the server. Children of a dead server may live on;
 * PostgreSQL still finds those without the file, by a memory segment keyed to the data directory's inode.
 */
export function removeStalePidFile(cluster: Cluster, seen: Postmaster): void {
  if (readPostmaster(cluster)?.pid === seen.pid) rmSync(pidFile(cluster), { force: true });
}

export interface Launched {
  readonly pid: number | undefined;
  /** Set once it has exited. Status 0: another process, which used it already, has shut it down. */
  exit?: { readonly status: number | null; readonly lastWords: string };
}

export async function launch(
  cluster: Cluster,
  launcher: Launcher,
  settings: Record<string, string>,
): Promise<Launched> {
  const port = await freePort(rememberedPort(cluster));
  const command = launcher.command('postgres', [
    ...['-D', cluster.data, '-p', String(port)],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  const logFile = logPath(cluster);
  rmSync(logFile, { force: true });
  // Kept open, because a process that starts at the same time replaces the file that bears the name.
  const output = openSync(logFile, 'a+', 0o600);
  keepOwner(cluster.dir, logFile);

  const child = spawn(command.file, command.args, {
    ...command.options,
    cwd: path.parse(cluster.data).root,
    env: minimalEnvironment(),
    stdio: ['ignore', output, output],
    detached: true,
    windowsHide: true,
  });
  child.unref();
  const launched: Launched = { pid: child.pid };
  const ended = (status: number | null, lastWords: string): void => {
    launched.exit = { status, lastWords };
    closeSync(output);
  };
  child.once('exit', (status) => {
    ended(status, readEnd(output));
  });
  child.once('error', ({ message }) => {
    ended(null, message); // it did not spawn: no exit follows
  });
  return launched;
}

export async function shutDown(cluster: Cluster, pid: number, log: (line: string) => void): Promise<void> {
  const runs = (): boolean => inspect(cluster, pid) === 'server';
  const isGone = async (timeout: number): Promise<boolean> => {
    const deadline = Date.now() + timeout;
    while (runs()) {
      if (Date.now() > deadline) return false;
      await delay(POLL);
    }
    return true;
  };
  // Node's signals kill outright on Windows, so there pg_ctl asks for the same over its own channel.
  const ask = (mode: 'fast' | 'immediate'): void => {
    if (process.platform === 'win32') {
      spawnSync(binaryPath(cluster.binaries, 'pg_ctl'), ['stop', '-D', cluster.data, '-m', mode, '-W']);
    } else if (runs()) {
      process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    }
  };
  ask('fast');
  if (await isGone(FAST_SHUTDOWN_TIMEOUT)) return;
  log('PostgreSQL is slow to shut down: stopping it at once, it will recover at its next start');
  ask('immediate');
  if (!(await isGone(IMMEDIATE_SHUTDOWN_TIMEOUT))) throw new Error(`PostgreSQL (pid ${pid}) does not stop`);
}

async function freePort(wanted: number): Promise<number> {
  const server = createServer();
  try {
    server.listen(wanted, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    if (wanted === 0) throw error;
    return await freePort(0);
  } finally {
    server.close();
  }
}
