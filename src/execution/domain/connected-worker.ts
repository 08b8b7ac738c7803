/** A worker of a team, over all of its connections. */
export interface ConnectedWorker {
  worker_id: string;
  connection_count: number;
  /** The earliest of its connections. */
  connected_at: Date;
  /** The latest sign of life on any of them. */
  last_seen_at: Date;
}
