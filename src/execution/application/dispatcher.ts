import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { Keyring } from '../../kernel/security/keyring.js';
import { ExecutionQueries, type AssignedRun, RunLifecycle, type WorkerPool } from '../../runs/index.js';
import type { TaskAssignment } from '../protocol/worker-messages.js';
import type { WorkerConnection } from './worker-connection.js';
import { WorkerConnections } from './worker-connections.js';
import { workloadToken } from './workload-token.js';

/** The safety net behind the signals. */
const POLL_MS = 2000;

/**
 * Takes runs off the queue on behalf of the workers that are connected to this replica, and tells them to stop.
 *
 * Woken when a run was queued and when a worker has room; passes of one replica never overlap, those of several share the queue
 * through SKIP LOCKED.
 */
@Injectable()
export class Dispatcher implements OnModuleInit {
  private readonly logger = new Logger(Dispatcher.name);
  private pass: Promise<void> | undefined;
  private wakeAgain = false;
  private draining = false;

  constructor(
    private readonly connections: WorkerConnections,
    private readonly lifecycle: RunLifecycle,
    private readonly executions: ExecutionQueries,
    private readonly transactor: Transactor,
    private readonly signals: Signals,
    private readonly keyring: Keyring,
    private readonly config: AppConfig,
  ) {}

  onModuleInit(): void {
    this.signals.on('run_queued', () => {
      this.wake();
    });
    this.signals.on('execution_stop', () => {
      this.sendStops().catch((error: unknown) => {
        this.logger.error({ err: error }, 'stops could not be sent');
      });
    });
  }

  /** From now on nothing is assigned. Resolves when the pass under way is done. */
  async drain(): Promise<void> {
    this.draining = true;
    await this.pass;
  }

  /** Looks for work soon. Any number of calls during a pass lead to one more. */
  wake(): void {
    if (this.draining) return;
    if (this.pass !== undefined) {
      this.wakeAgain = true;
      return;
    }
    this.pass = withNewTrace(() => this.assignAll())
      .catch((error: unknown) => {
        this.logger.error({ err: error }, 'dispatch failed; the next poll tries again');
      })
      .finally(() => {
        this.pass = undefined;
        if (this.wakeAgain) {
          this.wakeAgain = false;
          this.wake();
        }
      });
  }

  @Interval(POLL_MS)
  async poll(): Promise<void> {
    if (this.connections.all().length === 0) return;
    this.wake();
    // A worker may have been away when it was told to stop.
    await this.sendStops().catch((error: unknown) => {
      this.logger.error({ err: error }, 'stops could not be sent');
    });
  }

  private async assignAll(): Promise<void> {
    let assigned: number;
    do {
      assigned = 0;
      for (const connections of await this.poolsWithWork()) assigned += await this.assignPool(connections);
    } while (assigned > 0 && !this.draining);
  }

  /** The connections with room of each pool that a run waits for: most workers wait for pools in which nothing does. */
  private async poolsWithWork(): Promise<Iterable<WorkerConnection[]>> {
    const pools = new Map<string, WorkerConnection[]>();
    const free = this.connections.all().filter(({ capacity }) => capacity.free(Date.now()) > 0);
    if (free.length === 0) return [];
    const hosts = await this.executions.queuedWorkerHosts();
    for (const connection of free) {
      const { pool } = connection;
      if (!hosts.has(pool.kind === 'hosted' ? '' : pool.workerHost)) continue;
      const key = pool.kind === 'hosted' ? '' : `${pool.teamUid} ${pool.workerHost}`;
      const connections = pools.get(key);
      if (connections === undefined) pools.set(key, [connection]);
      else connections.push(connection);
    }
    return pools.values();
  }

  /** @returns how many runs were assigned */
  private async assignPool(connections: WorkerConnection[]): Promise<number> {
    let assigned = 0;
    for (const connection of connections) {
      const free = connection.capacity.free(Date.now());
      const taken = free > 0 ? await this.assign(connection, free) : 0;
      assigned += taken;
      if (taken < free) break;
    }
    return assigned;
  }

  private async assign(connection: WorkerConnection, limit: number): Promise<number> {
    const { id: connectionId, workerId, pool } = connection;
    const runs = await this.transactor.run((tx) =>
      this.lifecycle.assign(tx, { pool, workerId, connectionId }, limit),
    );
    const claimDeadline = Date.now() + this.config.claimDeadlineSeconds * 1000;
    for (const run of runs) {
      connection.capacity.assigned(run.executionId, claimDeadline);
      if (!connection.send({ type: 'task_assignment', data: this.toAssignment(run) })) {
        await this.transactor.run((tx) => this.lifecycle.requeue(tx, run, 'worker_disconnected'));
      }
    }
    return runs.length;
  }

  private toAssignment(run: AssignedRun & { runKey: string }): TaskAssignment {
    return {
      task_id: run.runId,
      execution_id: String(run.executionId),
      task: {
        id: run.runId,
        title: run.title,
        task_definition: { prompt: run.prompt },
        created_at: run.createdAt.toISOString(),
        updated_at: run.updatedAt.toISOString(),
        agent_conversation_id: run.conversationId,
      },
      env_vars: {
        WARP_API_KEY: run.runKey,
        WARP_WORKLOAD_TOKEN: workloadToken(this.keyring, run.executionId),
        OZ_RUN_ID: run.runId,
        WARP_RUN_ID: run.runId,
      },
    };
  }

  /** Tells workers of this replica to stop what was asked to stop, on any of their connections. */
  private async sendStops(): Promise<void> {
    const all = this.connections.all();
    if (all.length === 0) return;
    const stops = await this.executions.pendingStops([...new Set(all.map(({ workerId }) => workerId))]);
    for (const { runId, executionId, workerId, workerHost, teamUid } of stops) {
      for (const connection of this.connections.ofWorker(workerId)) {
        // Another team's worker may bear the same name.
        if (!serves(connection.pool, workerHost, teamUid)) continue;
        connection.send({
          type: 'task_cancellation',
          data: { task_id: runId, execution_id: String(executionId) },
        });
      }
    }
  }
}

const serves = (pool: WorkerPool, workerHost: string | null, teamUid: string | null): boolean =>
  pool.kind === 'hosted' ? workerHost === null : workerHost === pool.workerHost && teamUid === pool.teamUid;
