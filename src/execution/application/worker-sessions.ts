import { Injectable, Logger } from '@nestjs/common';
import type { RawData, WebSocket } from 'ws';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { newUuid } from '../../kernel/ids.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ExecutionQueries, RunLifecycle, type WorkerPool } from '../../runs/index.js';
import { SILENCE_SECONDS, WorkerConnectionRepository } from '../persistence/worker-connection.repository.js';
import { Dispatcher } from './dispatcher.js';
import { ReceiveWorkerMessage } from './receive-worker-message.js';
import { WorkerConnection } from './worker-connection.js';
import { WorkerConnections } from './worker-connections.js';

const SILENCE_MS = SILENCE_SECONDS * 1000;
/** Messages are a sign of life like pings; the database is told of them no more often than this. */
const TOUCH_MS = 20_000;
/** How long a worker may take to say good-bye too. */
const GOODBYE_MS = 1000;

/** The life of a worker's connection: greeted with work, kept by its pings, and what it had not claimed is queued again when it goes. */
@Injectable()
export class WorkerSessions {
  private readonly logger = new Logger(WorkerSessions.name);
  /** Each resolves when its connection has ended and what follows from that is done. */
  private readonly sessions = new Set<Promise<void>>();

  constructor(
    private readonly connections: WorkerConnections,
    private readonly repository: WorkerConnectionRepository,
    private readonly messages: ReceiveWorkerMessage,
    private readonly dispatcher: Dispatcher,
    private readonly lifecycle: RunLifecycle,
    private readonly executions: ExecutionQueries,
    private readonly transactor: Transactor,
  ) {}

  /** @param slots runs at a time, where the worker announced it */
  open(socket: WebSocket, worker: { workerId: string; pool: WorkerPool; slots: number | undefined }): void {
    const connection = new WorkerConnection(newUuid(), worker.workerId, worker.pool, worker.slots, socket);
    const fields = { worker_id: connection.workerId, connection_id: connection.id };
    // What happens on a connection happens in its order: a claim is handled before the completion that follows it.
    let queue = this.inOrder(Promise.resolve(), fields, async () => {
      try {
        connection.connectedAt = await this.repository.touch(connection);
      } catch (error) {
        // It would get no work. Workers come again.
        socket.close(1013, 'try again later');
        throw error;
      }
      this.connections.add(connection);
      this.logger.log(fields, 'worker connected');
      this.dispatcher.wake();
    });
    let silence = setTimeout(terminate, SILENCE_MS);
    function terminate(): void {
      socket.terminate();
    }
    let touchedAt = performance.now();
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(terminate, SILENCE_MS);
    };
    const touch = (): void => {
      touchedAt = performance.now();
      queue = this.inOrder(queue, fields, async () => {
        await this.repository.touch(connection);
        await this.lifecycle.renewLeasesOfConnection(connection.id);
      });
    };
    socket.on('ping', () => {
      heard();
      touch();
    });
    socket.on('message', (data: RawData) => {
      heard();
      if (performance.now() - touchedAt > TOUCH_MS) touch();
      queue = this.inOrder(queue, fields, () => this.messages.execute(connection, textOf(data)));
    });
    socket.on('error', (error) => {
      this.logger.warn({ ...fields, err: error }, 'error on a worker connection');
    });
    const session = new Promise<void>((resolve) => {
      socket.on('close', () => {
        clearTimeout(silence);
        this.connections.remove(connection);
        resolve(this.inOrder(queue, fields, () => this.end(connection)));
      });
    }).finally(() => this.sessions.delete(session));
    this.sessions.add(session);
  }

  /** Says good-bye to every worker and waits until what they had not claimed is queued again. */
  async closeAll(): Promise<void> {
    for (const connection of this.connections.all()) connection.close(1001, 'the server is stopping');
    const impatience = setTimeout(() => {
      for (const connection of this.connections.all()) connection.terminate();
    }, GOODBYE_MS);
    await Promise.all(this.sessions);
    clearTimeout(impatience);
  }

  private async end(connection: WorkerConnection): Promise<void> {
    this.logger.log({ worker_id: connection.workerId, connection_id: connection.id }, 'worker disconnected');
    // A connection can close before it has been added.
    this.connections.remove(connection);
    await this.repository.delete(connection.id);
    for (const execution of await this.executions.unclaimedOfConnection(connection.id)) {
      await this.transactor.run((tx) => this.lifecycle.requeue(tx, execution, 'worker_disconnected'));
    }
  }

  private async inOrder(previous: Promise<void>, fields: object, step: () => Promise<void>): Promise<void> {
    await previous;
    try {
      await withNewTrace(step);
    } catch (error) {
      // What was not written now is put right by the sweeper: deadlines and leases stand in the database.
      this.logger.error({ ...fields, err: error }, 'a message of a worker could not be handled');
    }
  }
}

function textOf(data: RawData): string {
  if (Buffer.isBuffer(data)) return data.toString('utf8');
  return Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data)]).toString('utf8');
}
