import { ApiProperty } from '@nestjs/swagger';
import type { ConnectedWorker } from '../domain/connected-worker.js';

/** A self-hosted worker that is connected. */
export class WorkerResponse {
  /**
   * What it calls itself: runs reach it by the same `worker_host` in their configuration.
   * @example "build-farm-1"
   */
  worker_host: string;

  /**
   * How many connections it holds, over all replicas of the service.
   * @example 2
   */
  @ApiProperty({ type: 'integer' })
  connection_count: number;

  /**
   * Since when: the earliest of its connections.
   * @example "2026-11-21T09:30:01.120Z"
   */
  @ApiProperty({ format: 'date-time' })
  connected_at: string;

  /**
   * The latest sign of life on any of them.
   * @example "2026-11-21T09:45:04.120Z"
   */
  @ApiProperty({ format: 'date-time' })
  last_seen_at: string;
}

/** The self-hosted workers of a team. */
export class WorkersResponse {
  /** By name; at most 1,000. */
  workers: WorkerResponse[];
}

export const toWorkersResponse = (workers: ConnectedWorker[]): WorkersResponse => ({
  workers: workers.map(({ worker_id, connection_count, connected_at, last_seen_at }) => ({
    worker_host: worker_id,
    connection_count,
    connected_at: connected_at.toISOString(),
    last_seen_at: last_seen_at.toISOString(),
  })),
});
