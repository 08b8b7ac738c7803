import type { WebSocket } from 'ws';
import type { WorkerPool } from '../../runs/index.js';
import { WorkerCapacity } from '../domain/worker-capacity.js';
import type { ServerMessage } from '../protocol/worker-messages.js';

/** A worker's open websocket on this replica. */
export class WorkerConnection {
  readonly capacity: WorkerCapacity;
  /** By the database's clock. */
  connectedAt: Date | undefined;

  constructor(
    readonly id: string,
    /** What the worker calls itself; several connections may share it. */
    readonly workerId: string,
    readonly pool: WorkerPool,
    /** Runs at a time, where the worker announced it. */
    slots: number | undefined,
    private readonly socket: WebSocket,
  ) {
    this.capacity = new WorkerCapacity(slots);
  }

  /** False when the connection is closing; an assignment is then taken back. */
  send(message: ServerMessage): boolean {
    if (this.socket.readyState !== this.socket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close(code: number, reason: string): void {
    this.socket.close(code, reason);
  }

  /** Without waiting for the worker's good-bye. */
  terminate(): void {
    this.socket.terminate();
  }
}
