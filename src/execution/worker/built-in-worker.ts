import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskCancellation } from '../protocol/worker-messages.js';
import { RecentExecutions } from './recent-executions.js';
import { ServerConnection } from './server-connection.js';
import { parseServerMessage, type LaunchOrder } from './server-message.js';
import { TaskExecution, type TaskSurroundings } from './task-execution.js';
import type { WorkerLogger } from './worker-logger.js';
import { Workspaces } from './workspaces.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const SWEEP_EVERY_MS = 10 * MINUTE;
const FLUSH_LIMIT_MS = 2 * SECOND;
const DEFAULT_REDIAL_CAP_MS = 5 * SECOND;

export interface BuiltInWorkerOptions {
  /** Root of the server, for the websocket and for the runners, e.g. `http://127.0.0.1:8080`. */
  url: string;
  /** An operator's key. */
  apiKey: string;
  workerId: string;
  /** How many executions may run at a time. */
  slots: number;
  /** Absolute. Made when missing. */
  workspaceRoot: string;
  /** The runner's compiled program. */
  runnerPath: string;
  /** What runners get of this machine's environment. */
  hostEnvironment: { HOME: string; PATH: string; TMPDIR: string; LANG?: string };
  logger: WorkerLogger;
  /** Longest wait between dials, in milliseconds. Default 5 s: this server is near. */
  redialCapMs?: number;
}

/**
 * The worker that comes with the service. It speaks the same protocol over the same socket as any other, and shares
 * nothing else with the server.
 *
 * Executions survive a lost connection: what they have to report waits for the next one. Each runs in a process group of
 * its own, of which nothing is left when its end is reported.
 */
export class BuiltInWorker {
  private readonly connection: ServerConnection;
  private readonly workspaces: Workspaces;
  private readonly surroundings: TaskSurroundings;
  private readonly recent = new RecentExecutions();
  private readonly active = new Set<TaskExecution>();
  private stopping = false;
  private sweep: NodeJS.Timeout | undefined;

  constructor(private readonly options: BuiltInWorkerOptions) {
    const { url, apiKey, workerId, slots, logger, redialCapMs = DEFAULT_REDIAL_CAP_MS } = options;
    const onText = (text: string): void => this.receive(text);
    this.connection = new ServerConnection({ url, apiKey, workerId, slots, logger, redialCapMs, onText });
    this.workspaces = new Workspaces(options.workspaceRoot, logger);
    this.surroundings = {
      workspaces: this.workspaces,
      runnerPath: options.runnerPath,
      hostEnvironment: { LANG: 'C.UTF-8', ...options.hostEnvironment },
      serverUrl: url,
      logger,
    };
  }

  start(): void {
    void this.workspaces.removeAbandoned();
    this.sweep = setInterval(() => void this.workspaces.removeAbandoned(), SWEEP_EVERY_MS).unref();
    this.connection.open();
  }

  /**
   * Takes no more work, gives what runs `drainMs` to finish, stops the rest, reports all of it and disconnects. Takes at
   * most about eight seconds longer than `drainMs`; no process of an execution is left then.
   */
  async stop({ drainMs }: { drainMs: number }): Promise<void> {
    this.stopping = true;
    clearInterval(this.sweep);
    const ended = Promise.all([...this.active].map((execution) => execution.report));
    await Promise.race([ended, sleep(drainMs, undefined, { ref: false })]);
    for (const execution of this.active) execution.stop('worker_shutdown');
    await ended;
    await this.connection.flush(FLUSH_LIMIT_MS);
    await this.connection.close();
  }

  private receive(text: string): void {
    const message = parseServerMessage(text);
    switch (message.kind) {
      case 'assignment':
        return this.assign(message.order);
      case 'cancellation':
        return this.cancel(message.cancellation);
      case 'unknown':
        return this.options.logger.debug({ type: message.type }, 'Message of an unknown type ignored');
      case 'unreadable':
        return this.options.logger.warn({ problem: message.problem }, 'Unreadable message ignored');
    }
  }

  private assign(order: LaunchOrder): void {
    const { task_id, execution_id } = order;
    const refusal = this.refusal();
    if (this.recent.has(keyOf(order))) return;
    if (refusal !== undefined) {
      this.connection.send({ type: 'task_rejected', data: { task_id, execution_id, reason: refusal } });
      return;
    }
    this.recent.add(keyOf(order));
    const { workerId } = this.options;
    this.connection.send({ type: 'task_claimed', data: { task_id, execution_id, worker_id: workerId } });
    void this.execute(new TaskExecution(order, this.surroundings));
  }

  private refusal(): string | undefined {
    if (this.stopping) return 'worker is shutting down';
    if (this.active.size >= this.options.slots) return 'worker at maximum concurrency';
    return undefined;
  }

  private async execute(execution: TaskExecution): Promise<void> {
    const { task_id: runId, execution_id: executionId } = execution.order;
    const log = this.options.logger;
    this.active.add(execution);
    log.info({ runId, executionId }, 'Execution started');
    const report = await execution.report;
    this.active.delete(execution);
    log.info({ runId, executionId, report: report.type }, 'Execution ended');
    this.connection.send(report);
  }

  private cancel({ task_id, execution_id }: TaskCancellation): void {
    for (const execution of this.active) {
      const { order } = execution;
      const meant = execution_id === undefined || execution_id === order.execution_id;
      if (order.task_id === task_id && meant) execution.stop('cancelled');
    }
  }
}

function keyOf({ task_id, execution_id }: LaunchOrder): string {
  return `${task_id}/${execution_id}`;
}
