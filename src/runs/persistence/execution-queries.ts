import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { WorkerPool } from './run-queue.js';
import type { ExecutionRef } from './run-transitions.js';

/** Rows that one sweep handles; the rest waits for the next one. */
const SWEEP_BATCH = 200;

/** Which executions want attention. What is done about one is judged again, in its own guarded statement. */
@Injectable()
export class ExecutionQueries {
  constructor(private readonly database: Database) {}

  /**
   * The worker hosts for which runs are queued; '' is the hosted pool. The index is entered once for each host, however many runs wait.
   */
  async queuedWorkerHosts(): Promise<Set<string>> {
    const next = (after: string): string =>
      `SELECT coalesce(worker_host, '') AS host FROM runs
        WHERE state = 'QUEUED' ${after} ORDER BY coalesce(worker_host, '') LIMIT 1`;
    const rows = await this.database.query<{ host: string }>(
      `WITH RECURSIVE hosts AS (
         (${next('')})
         UNION ALL
         SELECT n.host FROM hosts h CROSS JOIN LATERAL (${next(`AND coalesce(worker_host, '') > h.host`)}) n
       )
       SELECT host FROM hosts`,
    );
    return new Set(rows.map(({ host }) => host));
  }

  /** Assignments that nobody claimed in time. */
  async overdueClaims(): Promise<ExecutionRef[]> {
    return toRefs(
      await this.database.query<ExecutionRow>(
        `SELECT run_id, id FROM run_executions
          WHERE ended_at IS NULL AND claimed_at IS NULL AND lease_expires_at IS NULL AND claim_deadline_at < now()
          ORDER BY claim_deadline_at LIMIT ${String(SWEEP_BATCH)}`,
      ),
    );
  }

  /** The assignments of a connection that nobody claimed before it was lost. */
  async unclaimedOfConnection(connectionId: string): Promise<ExecutionRef[]> {
    return toRefs(
      await this.database.query<ExecutionRow>(
        `SELECT run_id, id FROM run_executions
          WHERE connection_id = $1 AND ended_at IS NULL AND claimed_at IS NULL AND lease_expires_at IS NULL`,
        [connectionId],
      ),
    );
  }

  /** Executions whose lease has run out. */
  async expiredLeases(): Promise<ExecutionRef[]> {
    return toRefs(
      await this.database.query<ExecutionRow>(
        `SELECT run_id, id FROM run_executions WHERE ended_at IS NULL AND lease_expires_at < now()
          ORDER BY lease_expires_at LIMIT ${String(SWEEP_BATCH)}`,
      ),
    );
  }

  /** Executions that have been running for too long and have not been asked to stop. */
  async overlongExecutions(maxMinutes: number): Promise<ExecutionRef[]> {
    return toRefs(
      await this.database.query<ExecutionRow>(
        `SELECT run_id, id FROM run_executions
          WHERE ended_at IS NULL AND stop_requested_at IS NULL AND started_at < now() - make_interval(mins => $1)
          ORDER BY started_at LIMIT ${String(SWEEP_BATCH)}`,
        [maxMinutes],
      ),
    );
  }

  /** Executions that have kept the session of their failed set-up for long enough, and have not been asked to stop. */
  async retentionsOver(): Promise<ExecutionRef[]> {
    return toRefs(
      await this.database.query<ExecutionRow>(
        `SELECT run_id, id FROM run_executions
          WHERE ended_at IS NULL AND stop_requested_at IS NULL AND session_retained_until <= now()
          ORDER BY session_retained_until LIMIT ${String(SWEEP_BATCH)}`,
      ),
    );
  }

  /** Executions that were asked to stop this long ago and have not confirmed it. */
  async unconfirmedStops(afterSeconds: number): Promise<ExecutionRef[]> {
    return toRefs(
      await this.database.query<ExecutionRow>(
        `SELECT run_id, id FROM run_executions
          WHERE ended_at IS NULL AND stop_requested_at < now() - make_interval(secs => $1)
          ORDER BY stop_requested_at LIMIT ${String(SWEEP_BATCH)}`,
        [afterSeconds],
      ),
    );
  }

  /** Executions of these workers that were asked to stop and have not ended. */
  async pendingStops(workerIds: string[]): Promise<PendingStop[]> {
    const rows = await this.database.query<
      ExecutionRow & { worker_id: string; worker_host: string | null; team_uid: string | null }
    >(
      `SELECT e.run_id, e.id, e.worker_id, r.worker_host, r.team_uid
         FROM run_executions e JOIN runs r ON r.id = e.run_id
        WHERE e.ended_at IS NULL AND e.stop_requested_at IS NOT NULL AND e.worker_id = ANY ($1)`,
      [workerIds],
    );
    return rows.map((row) => ({
      ...toRef(row),
      workerId: row.worker_id,
      workerHost: row.worker_host,
      teamUid: row.team_uid,
    }));
  }

  /**
   * The execution that a worker speaks of, if it is one of its own: of the pool that it serves, under the name that it bears.
   *
   * @param executionId undefined in older revisions of the protocol, which mean the latest: of this connection, if it was given the
   *   run, since the same worker may have been given it again over another one
   */
  async ofWorker(
    worker: { id: string; pool: WorkerPool; workerId: string },
    runId: string,
    executionId: number | undefined,
  ): Promise<ExecutionRef | undefined> {
    const rows = await this.database.query<ExecutionRow>(
      `SELECT e.run_id, e.id FROM run_executions e JOIN runs r ON r.id = e.run_id
        WHERE e.run_id = $1 AND e.worker_id = $2 AND ($3::bigint IS NULL OR e.id = $3)
          AND r.worker_host IS NOT DISTINCT FROM $4 AND ($5::uuid IS NULL OR r.team_uid = $5)
        ORDER BY e.connection_id = $6 DESC, e.id DESC LIMIT 1`,
      [
        runId,
        worker.workerId,
        executionId ?? null,
        worker.pool.kind === 'hosted' ? null : worker.pool.workerHost,
        worker.pool.kind === 'hosted' ? null : worker.pool.teamUid,
        worker.id,
      ],
    );
    return rows[0] && toRef(rows[0]);
  }
}

/** An execution that is to stop, and the workers that may be told of it. */
export interface PendingStop extends ExecutionRef {
  workerId: string;
  /** Null: those of the hosted pool. */
  workerHost: string | null;
  teamUid: string | null;
}

interface ExecutionRow {
  run_id: string;
  id: string;
}

const toRef = (row: ExecutionRow): ExecutionRef => ({ runId: row.run_id, executionId: Number(row.id) });
const toRefs = (rows: ExecutionRow[]): ExecutionRef[] => rows.map(toRef);
