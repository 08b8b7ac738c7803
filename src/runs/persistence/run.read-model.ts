import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { RunState } from '../domain/run-state.js';
import { KEEPS_SESSION } from './run-execution.repository.js';
import type { RunView, TimelineEventView } from '../domain/run-view.js';

/** What a caller may see: their team's runs and their own, or, for a run's own agent, that run. */
export interface RunVisibility {
  teamUid: string | null;
  ownerUid: string | null;
  runId: string | null;
}

/** The columns of a {@link RunView}, of `runs r` and {@link RUN_JOINS}. */
export const RUN_COLUMNS = `
  r.id, r.title, r.state, d.prompt, d.agent_config, d.agent_skill, r.status_message, r.team_uid, r.owner_uid, r.creator_uid, r.executor_uid,
  r.source, r.worker_host, r.conversation_id, r.metadata, r.mode, r.interactive, r.parent_run_id, r.created_at, r.updated_at, r.started_at,
  r.last_event_sequence, r.schedule_id, d.schedule_name, d.cron_schedule,
  x.run_seconds, x.sandbox_running, x.debug_until, x.debug_agent_active,
  x.total_tokens, x.inference_cost_usd`;

export const RUN_JOINS = `
  JOIN run_definitions d ON d.run_id = r.id
  CROSS JOIN LATERAL (
    SELECT extract(epoch FROM sum(coalesce(e.ended_at, now()) - e.started_at))::float8 AS run_seconds,
           coalesce(bool_or(e.ended_at IS NULL AND coalesce(e.claimed_at, e.lease_expires_at) IS NOT NULL), false)
             AS sandbox_running,
           max(e.session_retained_until) FILTER (WHERE r.state = 'FAILED' AND ${KEEPS_SESSION}) AS debug_until,
           coalesce(bool_or(CASE WHEN e.ended_at IS NULL AND e.session_retained_at IS NOT NULL THEN EXISTS (
             SELECT 1 FROM run_messages m WHERE m.run_id = r.id AND m.delivered_execution_id = e.id
                AND m.delivered_at >= e.session_retained_at) END), false) AS debug_agent_active,
           sum(e.total_tokens)::float8 AS total_tokens, sum(e.inference_cost_usd)::float8 AS inference_cost_usd
      FROM run_executions e WHERE e.run_id = r.id
  ) x`;

const MAX_CHILDREN = 500;
const TIMELINE_LIMIT = 10_000;

/** Details of runs, as they are read. */
@Injectable()
export class RunReadModel {
  constructor(private readonly database: Database) {}

  async find(runId: string, visibility: RunVisibility): Promise<RunView | undefined> {
    const rows = await this.database.query<RunView>(
      `SELECT ${RUN_COLUMNS},
              ARRAY(SELECT c.id FROM runs c
                     WHERE c.parent_run_id = r.id AND (c.team_uid = $2 OR c.owner_uid = $3 OR r.id = $4)
                     ORDER BY c.created_at, c.id LIMIT ${String(MAX_CHILDREN)}) AS children
         FROM runs r ${RUN_JOINS}
        WHERE r.id = $1 AND (r.team_uid = $2 OR r.owner_uid = $3 OR r.id = $4)`,
      [runId, visibility.teamUid, visibility.ownerUid, visibility.runId],
    );
    return rows[0];
  }

  async exists(runId: string, visibility: RunVisibility): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM runs r WHERE r.id = $1 AND (r.team_uid = $2 OR r.owner_uid = $3 OR r.id = $4)`,
      [runId, visibility.teamUid, visibility.ownerUid, visibility.runId],
    );
    return rows.length === 1;
  }

  timeline(runId: string): Promise<TimelineEventView[]> {
    return this.database.query<TimelineEventView>(
      `SELECT event_uuid, run_id, execution_id, event_type, occurred_at, payload
         FROM run_timeline_events WHERE run_id = $1 ORDER BY sequence LIMIT ${String(TIMELINE_LIMIT)}`,
      [runId],
    );
  }

  async latestEndedExecution(runId: string): Promise<number | undefined> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT id FROM run_executions WHERE run_id = $1 AND ended_at IS NOT NULL ORDER BY id DESC LIMIT 1`,
      [runId],
    );
    return rows[0] && Number(rows[0].id);
  }

  /** For how many seconds the run that waits longest for a worker of each pool has been waiting; 0 = none waits. */
  queueLag(): Promise<{ pool: string; seconds: number }[]> {
    return this.database.query(
      `SELECT p.pool, coalesce(extract(epoch FROM max(now() - r.available_at)), 0)::float8 AS seconds
         FROM (VALUES ('hosted', true), ('self_hosted', false)) AS p (pool, is_hosted)
         LEFT JOIN runs r ON r.state = 'QUEUED' AND r.available_at <= now() AND (r.worker_host IS NULL) = p.is_hosted
        GROUP BY p.pool ORDER BY p.pool`,
    );
  }

  /** How many runs are in each state that is not an end. */
  countLive(): Promise<{ state: RunState; count: number }[]> {
    return this.database.query(
      `SELECT state, count(*)::int AS count FROM runs
        WHERE state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS') GROUP BY state`,
    );
  }
}
