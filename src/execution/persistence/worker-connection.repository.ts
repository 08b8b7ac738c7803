import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { WorkerPool } from '../../runs/index.js';
import type { ConnectedWorker } from '../domain/connected-worker.js';

/** A connection that has been silent for this long is dead, wherever it was held: workers ping every 30 s. */
export const SILENCE_SECONDS = 90;

/** What one answer shows of a team's workers. */
const MAX_WORKERS = 1_000;

/** The open connections of workers, as all replicas see them. */
@Injectable()
export class WorkerConnectionRepository {
  constructor(private readonly database: Database) {}

  /**
   * The connection is there now. One that was given up, since nobody could say so for a while, is there again.
   *
   * @param connection.connectedAt what the first call has returned
   * @returns since when it is there
   */
  async touch(connection: {
    id: string;
    workerId: string;
    pool: WorkerPool;
    connectedAt: Date | undefined;
  }): Promise<Date | undefined> {
    const rows = await this.database.query<{ connected_at: Date }>(
      `INSERT INTO worker_connections (id, worker_id, team_uid, connected_at) VALUES ($1, $2, $3, coalesce($4, now()))
       ON CONFLICT (id) DO UPDATE SET last_seen_at = now() RETURNING connected_at`,
      [
        connection.id,
        connection.workerId,
        connection.pool.kind === 'hosted' ? null : connection.pool.teamUid,
        connection.connectedAt ?? null,
      ],
    );
    return rows[0]?.connected_at;
  }

  async delete(id: string): Promise<void> {
    await this.database.query(`DELETE FROM worker_connections WHERE id = $1`, [id]);
  }

  /** Removes what a replica left behind that was killed. @returns the connections that are gone with it */
  async deleteSilent(): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `DELETE FROM worker_connections WHERE last_seen_at < now() - make_interval(secs => $1) RETURNING id`,
      [SILENCE_SECONDS],
    );
    return rows.map((row) => row.id);
  }

  /** How many connections could take runs of the hosted pool, or that team's for the worker host; nobody takes a personal run for one. */
  async count(workerHost: string | null, teamUid: string | null): Promise<number> {
    const rows = await this.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM worker_connections
        WHERE CASE WHEN $2::text IS NULL THEN team_uid IS NULL ELSE team_uid = $1 AND worker_id = $2 END`,
      [teamUid, workerHost],
    );
    return rows[0]?.count ?? 0;
  }

  /**
   * The workers of a team by name, at most {@link MAX_WORKERS}. A connection whose replica was killed no longer counts once it has been
   * silent, whether or not the sweeper has been there.
   */
  ofTeam(teamUid: string): Promise<ConnectedWorker[]> {
    return this.database.query<ConnectedWorker>(
      `SELECT worker_id, count(*)::int AS connection_count, min(connected_at) AS connected_at, max(last_seen_at) AS last_seen_at
         FROM worker_connections
        WHERE team_uid = $1 AND last_seen_at >= now() - make_interval(secs => $2)
        GROUP BY worker_id ORDER BY worker_id LIMIT ${String(MAX_WORKERS)}`,
      [teamUid, SILENCE_SECONDS],
    );
  }

  countByPool(): Promise<{ pool: string; count: number }[]> {
    return this.database.query(
      `SELECT CASE WHEN team_uid IS NULL THEN 'hosted' ELSE 'self_hosted' END AS pool, count(*)::int AS count
         FROM worker_connections GROUP BY 1`,
    );
  }
}
