import { Injectable } from '@nestjs/common';
import type { WorkerConnection } from './worker-connection.js';

/** The workers that are connected to this replica. */
@Injectable()
export class WorkerConnections {
  private readonly connections = new Map<string, WorkerConnection>();

  add(connection: WorkerConnection): void {
    this.connections.set(connection.id, connection);
  }

  remove(connection: WorkerConnection): void {
    this.connections.delete(connection.id);
  }

  all(): WorkerConnection[] {
    return [...this.connections.values()];
  }

  /** The connections of one worker: it may answer on another one than it was asked on. */
  ofWorker(workerId: string): WorkerConnection[] {
    return this.all().filter((connection) => connection.workerId === workerId);
  }

  get(id: string): WorkerConnection | undefined {
    return this.connections.get(id);
  }
}
