import { totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { EmbeddedPostgresError, usableBinaries } from './embedded/binaries.js';
import {
  initialise,
  isInitialised,
  openCluster,
  ownerOf,
  readLogEnd,
  readPassword,
  rememberPort,
  removeUnfinished,
  type Cluster,
} from './embedded/cluster.js';
import { chooseLauncher, handOver } from './embedded/launcher.js';
import {
  launch,
  readPostmaster,
  removeStalePidFile,
  shutDown,
  type Launched,
  type Postmaster,
} from './embedded/postmaster.js';
import { isLastUser, openSession } from './embedded/session.js';

export { EmbeddedPostgresError };

export interface EmbeddedPostgresOptions {
  dataDir: string;
  /** Created when absent. */
  database: string;
  maxConnections?: number;
  /** Server settings, over the defaults below. They do not reach a server that is adopted. */
  settings?: Record<string, string>;
  log: (line: string) => void;
}

export interface EmbeddedPostgres {
  readonly url: string;
  /** The server ran already: a killed process left it behind, or another process started it. */
  readonly adopted: boolean;
  readonly pid: number;
  /** Shuts the server down, unless another process still uses it. */
  stop(): Promise<void>;
}

const SECOND = 1_000;
const POLL = 10;
/** Crash recovery replays up to max_wal_size (1 GB). */
const READY_TIMEOUT = 120 * SECOND;
/** After `kill -9` its children hold the old server's memory for up to 2 s; a port may be taken meanwhile. */
const RETRY_TIMEOUT = 20 * SECOND;
const RETRY_DELAY = 200;
const REFUSED_TIMEOUT = 3 * SECOND;
const TRANSIENT =
  /lock file .* (?:already exists|is empty)|shared memory block .* in use|could not (?:bind|create any TCP)/;

/**
 * Starts a private PostgreSQL below `dataDir`, or adopts the one that runs there.
 *
 * - The server has a session of its own and logs to a file: Ctrl-C reaches node alone, which drains first, and
 *   no pipe breaks under the server when node is killed. What `kill -9` leaves behind is adopted next time.
 * - Processes that start together need no lock of ours: a cluster appears by rename, PostgreSQL's pid file
 *   lets one server start, the others adopt it, and whoever stops last shuts it down.
 * - All of that holds on one host. Two containers that share a data directory do not see each other's
 *   processes, and no check here or in PostgreSQL keeps them apart: replicas need DATABASE_URL.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const cluster = openCluster(options.dataDir);
  const began = Date.now();
  let launched: Launched | undefined;
  let answered = began;
  let told = false;

  for (;;) {
    const server = readPostmaster(cluster);
    if (server?.process === 'server') {
      const session = server.ready
        ? await openSession(cluster, server.port, options.database)
        : 'unavailable';
      if (typeof session !== 'string') {
        rememberPort(cluster, server.port);
        return use(cluster, server, session, server.pid !== launched?.pid, options);
      }
      if (session !== 'refused') answered = Date.now();
      // Where the process behind the pid cannot be inspected, silence on its port is what tells.
      const silent = process.platform !== 'linux' && Date.now() - answered > REFUSED_TIMEOUT;
      if (session === 'foreign' || silent) removeStalePidFile(cluster, server);
    } else if (launched?.exit) {
      assertWorthRetrying(cluster, launched.exit, began);
      launched = undefined;
      await delay(RETRY_DELAY);
    } else if (!launched) {
      if (server?.process === 'foreign') removeStalePidFile(cluster, server);
      launched = await launchServer(cluster, options);
      answered = Date.now();
    }

    const waited = Date.now() - began;
    if (waited > READY_TIMEOUT) {
      throw new EmbeddedPostgresError(
        `PostgreSQL in ${cluster.dir} (pid ${server?.pid ?? 'unknown'}) is not ready after ${READY_TIMEOUT / SECOND} s.` +
          ` If it recovers from a crash it goes on doing so, and a later start finds it ready.\n${readLogEnd(cluster)}`,
      );
    }
    if (!told && waited > 5 * SECOND) {
      told = true;
      options.log('PostgreSQL is not ready yet: it recovers from a crash, or another process shuts it down');
    }
    await delay(POLL);
  }
}

async function launchServer(cluster: Cluster, options: EmbeddedPostgresOptions): Promise<Launched> {
  const binaries = usableBinaries(cluster.dataDir);
  const launcher = chooseLauncher(binaries, cluster.dataDir, ownerOf(cluster.data));
  removeUnfinished(cluster);
  if (!isInitialised(cluster.dir)) {
    options.log(`Creating a PostgreSQL ${binaries.major} cluster in ${cluster.dir} (${launcher.how})`);
    await initialise(cluster, launcher, { sync: options.settings?.fsync !== 'off' });
  }
  const { owner } = launcher;
  if (owner && ownerOf(cluster.data)?.uid !== owner.uid) handOver(cluster.data, owner);

  return await launch(cluster, launcher, {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '', // a socket's lock file goes stale too, and its path may be too long
    max_connections: String(options.maxConnections ?? 100),
    shared_buffers: `${String(sharedBuffersMib())}MB`,
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off', // nothing rotates the log; it starts anew with the server
    ...options.settings,
  });
}

/** An eighth of the memory that this process may use, from 128 MiB to 1 GiB: lists of runs are slower where their indexes are not in it. */
function sharedBuffersMib(): number {
  const available = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  return Math.max(128, Math.min(1024, Math.floor(available / 8 / 2 ** 20)));
}

function assertWorthRetrying(
  { dir }: Cluster,
  { status, lastWords }: NonNullable<Launched['exit']>,
  began: number,
): void {
  const transient = status === 0 || TRANSIENT.test(lastWords);
  if (transient && Date.now() - began < RETRY_TIMEOUT) return;
  const advice = lastWords.includes('shared memory block')
    ? ' (a query of the previous server still runs: end it, or wait)'
    : '';
  throw new EmbeddedPostgresError(`PostgreSQL in ${dir} does not start${advice}:\n${lastWords}`);
}

function use(
  cluster: Cluster,
  server: Postmaster,
  session: pg.Client,
  adopted: boolean,
  { database, log }: EmbeddedPostgresOptions,
): EmbeddedPostgres {
  let lost = false;
  let stopping: Promise<void> | undefined;
  session.on('error', () => {
    lost = true;
    if (!stopping) log(`The connection to PostgreSQL (pid ${server.pid}) broke:\n${readLogEnd(cluster)}`);
  });

  const shutDownUnlessShared = async (): Promise<void> => {
    try {
      // Whether others use a server that no longer answers cannot be known, and is of no use to them.
      const last = lost || (await isLastUser(session).catch(() => true));
      if (last) await shutDown(cluster, server.pid, log);
      else log('PostgreSQL keeps running: another process uses it');
    } finally {
      await session.end().catch(() => undefined);
    }
  };

  const url = `postgres://postgres:${readPassword(cluster)}@127.0.0.1:${server.port}/${encodeURIComponent(database)}`;
  return { url, adopted, pid: server.pid, stop: () => (stopping ??= shutDownUnlessShared()) };
}
