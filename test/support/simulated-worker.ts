import { EventEmitter, once } from 'node:events';
import { WebSocket } from 'ws';
import type {
  ServerMessage,
  TaskAssignment,
  TaskCancellation,
  TaskFailed,
  WorkerMessage,
} from '../../src/execution/protocol/worker-messages.js';
import { ADMIN_KEY, type Answer, call, eventually, type TestApp } from './test-app.js';

export interface WorkerOptions {
  workerId?: string;
  /** By default the admin's, which is an operator's. */
  key?: string;
  /** Runs at a time; left out, the worker does not announce it. */
  slots?: number;
  /** Speaks the older revision of the protocol, whose messages name no execution. */
  namesNoExecution?: boolean;
}

/** A message about this run; of the latest execution when none is named. */
type Reference = Pick<TaskAssignment, 'task_id'> & Partial<Pick<TaskAssignment, 'execution_id'>>;

const PATIENCE_MS = 10_000;

/** What a worker needs to know of the service to which it connects. */
export type WorkerServer = Pick<TestApp, 'url' | 'dataSource'>;

/** A worker's side of the websocket, message by message: it does nothing by itself but answer pings. */
export class SimulatedWorker {
  /** Everything that the server has sent, in its order. */
  readonly received: ServerMessage[] = [];
  /** Resolves to the close code. */
  readonly closed: Promise<number>;
  private readonly changed = new EventEmitter().setMaxListeners(0);
  private readonly taken = new Set<ServerMessage>();

  private constructor(
    private readonly socket: WebSocket,
    private readonly server: WorkerServer,
    readonly workerId: string,
    private readonly namesNoExecution: boolean,
  ) {
    socket.on('message', (data: Buffer) => {
      this.received.push(JSON.parse(data.toString()) as ServerMessage);
      this.changed.emit('change');
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', resolve);
    });
  }

  /** Resolves once the connection is open and the server counts it among its workers. */
  static async connect(server: WorkerServer, options: WorkerOptions = {}): Promise<SimulatedWorker> {
    const { workerId = 'simulated', key = ADMIN_KEY, slots, namesNoExecution = false } = options;
    const socket = new WebSocket(workerUrl(server, workerId), {
      headers: {
        Authorization: `Bearer ${key}`,
        ...(slots === undefined ? {} : { 'X-Millwright-Worker-Slots': String(slots) }),
      },
    });
    const worker = new SimulatedWorker(socket, server, workerId, namesNoExecution);
    await once(socket, 'open');
    await worker.untilHandled();
    return worker;
  }

  get assignments(): TaskAssignment[] {
    return this.received.flatMap((message) => (message.type === 'task_assignment' ? [message.data] : []));
  }

  get cancellations(): TaskCancellation[] {
    return this.received.flatMap((message) => (message.type === 'task_cancellation' ? [message.data] : []));
  }

  /** The next assignment that no call has answered yet, also one that has come before. */
  async nextAssignment(): Promise<TaskAssignment> {
    return (await this.next('task_assignment')).data;
  }

  async nextCancellation(): Promise<TaskCancellation> {
    return (await this.next('task_cancellation')).data;
  }

  claim(run: Reference): void {
    this.send({ type: 'task_claimed', data: { ...this.reference(run), worker_id: this.workerId } });
  }

  reject(run: Reference, reason = 'worker at maximum concurrency'): void {
    this.send({ type: 'task_rejected', data: { ...this.reference(run), reason } });
  }

  complete(run: Reference, taskState?: 'CANCELLED'): void {
    const message =
      taskState === undefined ? 'Task completed successfully' : 'Task cancelled by user request.';
    this.send({ type: 'task_completed', data: { ...this.reference(run), message, task_state: taskState } });
  }

  fail(run: Reference, failure: Omit<TaskFailed, keyof Reference>): void {
    this.send({ type: 'task_failed', data: { ...this.reference(run), ...failure } });
  }

  send(message: WorkerMessage): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string | Buffer): void {
    this.socket.send(text);
  }

  async ping(): Promise<void> {
    const pong = once(this.socket, 'pong');
    this.socket.ping();
    await pong;
  }

  /** Resolves once the server has handled everything that was sent before: it handles a ping in its turn, too. */
  async untilHandled(): Promise<void> {
    const before = await this.lastSeen();
    await eventually(
      async () => {
        if (this.socket.readyState !== WebSocket.OPEN) throw new Error('the worker is not connected');
        await this.ping();
        const now = await this.lastSeen();
        return now !== undefined && now !== before ? true : undefined;
      },
      { what: 'the handling of the messages' },
    );
  }

  /** The runner of an execution, as far as it calls the server. */
  runner(assignment: TaskAssignment): SimulatedRunner {
    return new SimulatedRunner(this.server.url, assignment);
  }

  async close(): Promise<void> {
    this.socket.close(1000);
    await this.closed;
  }

  /** As a crash of the worker's machine: without a good-bye. */
  async vanish(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }

  private async next<Type extends ServerMessage['type']>(
    type: Type,
  ): Promise<Extract<ServerMessage, { type: Type }>> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (;;) {
      const found = this.received.find((message) => message.type === type && !this.taken.has(message));
      if (found !== undefined) {
        this.taken.add(found);
        return found as Extract<ServerMessage, { type: Type }>;
      }
      await once(this.changed, 'change', { signal }).catch((cause: unknown) => {
        throw new Error(`no ${type} within ${PATIENCE_MS} ms`, { cause });
      });
    }
  }

  private reference({ task_id, execution_id }: Reference): Reference {
    return this.namesNoExecution ? { task_id } : { task_id, execution_id };
  }

  /** Of the latest of the connections under this name. */
  private async lastSeen(): Promise<string | undefined> {
    const [row] = await this.server.dataSource.query<{ seen: string | null }[]>(
      'SELECT max(last_seen_at)::text AS seen FROM worker_connections WHERE worker_id = $1',
      [this.workerId],
    );
    return row?.seen ?? undefined;
  }
}

/** After a test: the workers vanish, the server takes note of it, and the runs are deleted. */
export async function dismissWorkers(server: TestApp, workers: SimulatedWorker[]): Promise<void> {
  await Promise.all(workers.splice(0).map((worker) => worker.vanish()));
  await eventually(async () => {
    const [row] = await server.dataSource.query<{ count: number }[]>(
      'SELECT count(*)::int AS count FROM worker_connections',
    );
    return row?.count === 0 ? true : undefined;
  });
  await server.dataSource.query('DELETE FROM runs');
}

/** The worker's next execution, claimed, with its agent at work. */
export async function beginNext(worker: SimulatedWorker): Promise<SimulatedRunner> {
  const assignment = await worker.nextAssignment();
  worker.claim(assignment);
  await worker.untilHandled();
  const runner = worker.runner(assignment);
  const { status } = await runner.begin();
  if (status !== 200) throw new Error(`the agent could not begin: ${String(status)}`);
  return runner;
}

/** What a runner calls, with the key and the token of its assignment. */
export class SimulatedRunner {
  constructor(
    private readonly serverUrl: string,
    readonly assignment: TaskAssignment,
  ) {}

  call(method: string, path: string, body?: unknown): Promise<Answer> {
    const { WARP_API_KEY, WARP_WORKLOAD_TOKEN } = this.assignment.env_vars;
    return call(`${this.serverUrl}/v1/${path}`, method, body, {
      Authorization: `Bearer ${WARP_API_KEY!}`,
      'X-Warp-Cloud-Agent-ID': this.assignment.task_id,
      'X-Warp-Ambient-Workload-Token': WARP_WORKLOAD_TOKEN!,
    });
  }

  heartbeat(): Promise<Answer> {
    return this.call('POST', 'harness-support/heartbeat');
  }

  begin(): Promise<Answer> {
    return this.call('POST', `agent/events/${this.assignment.task_id}`, { event_type: 'run_in_progress' });
  }

  finish(success: boolean, summary = 'A summary'): Promise<Answer> {
    return this.call('POST', 'harness-support/finish-task', { success, summary });
  }

  shutDown(error?: { category: string; message: string }): Promise<Answer> {
    return this.call('POST', 'harness-support/report-shutdown', { error });
  }
}

function workerUrl(server: WorkerServer, workerId: string): string {
  const query = new URLSearchParams({ worker_id: workerId });
  return `${server.url.replace('http', 'ws')}/v1/selfhosted/worker/ws?${query.toString()}`;
}
