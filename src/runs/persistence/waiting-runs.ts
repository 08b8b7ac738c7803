import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { FULL_TEAMS } from './run-queue.js';
import { TOUCHED } from './run-transitions.js';

/** Runs that wait for the same workers. `workerHost` null: the hosted pool, whatever the team; else `teamUid` null: personal runs. */
export interface WaitingGroup {
  workerHost: string | null;
  teamUid: string | null;
}

/** A run that is picked up at once is not worth a word. */
const GRACE_SECONDS = 2;
const BATCH = 500;

/** Tells of queued runs why they wait: a state that nobody can explain is a bug. */
@Injectable()
export class WaitingRuns {
  constructor(private readonly database: Database) {}

  /** Which workers runs are waiting for at the moment. */
  async groups(): Promise<WaitingGroup[]> {
    const rows = await this.database.query<{ worker_host: string | null; team_uid: string | null }>(
      `SELECT DISTINCT worker_host, CASE WHEN worker_host IS NOT NULL THEN team_uid END AS team_uid
         FROM runs WHERE state = 'QUEUED' AND available_at < now() - make_interval(secs => $1)`,
      [GRACE_SECONDS],
    );
    return rows.map((row) => ({ workerHost: row.worker_host, teamUid: row.team_uid }));
  }

  /**
   * Writes the reason where it is news, on the run and on its timeline. A continuation waits for the end of the previous execution in
   * its conversation before it waits for a worker.
   *
   * @param except teams whose runs wait for something else
   */
  async explain(tx: Tx, group: WaitingGroup, message: string, except: string[] = []): Promise<void> {
    await explainWhere(
      tx,
      `coalesce(worker_host, '') = $3 AND ($3 = '' OR team_uid IS NOT DISTINCT FROM $4::uuid)
            AND (team_uid IS NULL OR NOT team_uid = ANY ($5::uuid[]))`,
      message,
      [group.workerHost ?? '', group.teamUid, except],
    );
  }

  /** The teams that have as many runs under way as they may. */
  async teamsAtLimit(limit: number): Promise<string[]> {
    const rows = await this.database.query<{ team_uid: string }>(FULL_TEAMS('$1'), [limit]);
    return rows.map((row) => row.team_uid);
  }

  /** The same for all runs of these teams, whatever worker they are for. */
  async explainTeams(tx: Tx, teamUids: string[], message: string): Promise<void> {
    await explainWhere(tx, 'team_uid = ANY ($3::uuid[])', message, [teamUids]);
  }
}

/** @param which a condition with placeholders from $3 */
const explainWhere = (tx: Tx, which: string, message: string, parameters: unknown[]): Promise<unknown> =>
  tx.query(
    `WITH unexplained AS (
         SELECT id, reason
           FROM runs r
          CROSS JOIN LATERAL (
                SELECT CASE WHEN EXISTS (
                         SELECT 1 FROM runs o JOIN run_executions e ON e.run_id = o.id AND e.ended_at IS NULL
                          WHERE o.id = r.id OR o.conversation_id = r.conversation_id)
                       THEN 'Waiting for the previous execution to end' ELSE $2::text END AS reason) w
          WHERE state = 'QUEUED' AND available_at < now() - make_interval(secs => $1)
            AND ${which}
            AND status_message->>'message' IS DISTINCT FROM reason
          ORDER BY available_at, id LIMIT ${String(BATCH)} FOR UPDATE OF r SKIP LOCKED
       ), explained AS (
         UPDATE runs r SET status_message = jsonb_build_object('message', u.reason), ${TOUCHED}
           FROM unexplained u WHERE r.id = u.id RETURNING r.id, u.reason
       )
       INSERT INTO run_timeline_events (event_uuid, run_id, event_type, payload)
       SELECT gen_random_uuid(), id, 'run_waiting', jsonb_build_object('reason', reason) FROM explained`,
    [GRACE_SECONDS, message, ...parameters],
  );
