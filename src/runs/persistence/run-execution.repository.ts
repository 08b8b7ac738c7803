import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import { Database, type Queryable, type Tx } from '../../kernel/persistence/database.js';
import { RUN_STATE_MACHINE } from '../domain/run-state.js';
import { type ExecutionRef, lockRun } from './run-transitions.js';

/** An execution `e` that keeps the session of its failed set-up, and can be spoken to. */
export const KEEPS_SESSION = `(e.ended_at IS NULL AND e.stop_requested_at IS NULL
            AND e.session_retained_until > clock_timestamp() AND e.lease_expires_at > clock_timestamp())`;

/**
 * Executions by themselves: their leases, the sessions that they keep, their end. What moves their runs as well is in `RunTransitions`.
 * Each change is guarded by the execution being alive, and tells whether it was. Locks are taken in the order run, execution.
 */
@Injectable()
export class RunExecutionRepository {
  constructor(
    private readonly database: Database,
    private readonly config: AppConfig,
  ) {}

  /**
   * Opens the executions of runs that their creators execute. They have a lease from the start, which the creator's reports renew.
   *
   * @returns in the order of the runs
   */
  async openSelfExecuted(tx: Tx, runIds: string[]): Promise<ExecutionRef[]> {
    const rows = await tx.query<{ id: string; run_id: string }>(
      `WITH opened AS (
         INSERT INTO run_executions (run_id, claim_deadline_at, claimed_at, lease_expires_at)
         SELECT id, 'infinity', now(), now() + make_interval(secs => $2) FROM unnest($1::uuid[]) AS r (id)
         RETURNING id, run_id
       )
       UPDATE runs r SET execution_id = o.id FROM opened o WHERE r.id = o.run_id RETURNING o.id, o.run_id`,
      [runIds, this.config.leaseSeconds],
    );
    const executions = new Map(rows.map((row) => [row.run_id, Number(row.id)]));
    return runIds.flatMap((runId) => {
      const executionId = executions.get(runId);
      return executionId === undefined ? [] : [{ runId, executionId }];
    });
  }

  /** Closes an execution, whatever became of its run; false when it was closed before. */
  async end(tx: Tx, execution: ExecutionRef, reason: string): Promise<boolean> {
    const ended = await tx.query(
      `WITH ended AS (
         UPDATE run_executions SET ended_at = now(), end_reason = $3
          WHERE id = $2 AND run_id = $1 AND ended_at IS NULL RETURNING id, run_id
       ), logged AS (
         INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
         SELECT gen_random_uuid(), run_id, id, 'vm_shutdown', jsonb_build_object('reason', $3::text) FROM ended
       )
       SELECT id FROM ended`,
      [execution.runId, execution.executionId, reason],
    );
    return ended.length === 1;
  }

  /**
   * A sign of life of the runner. False when the execution is over: ended, or asked to stop, or no longer the run's.
   * The statement takes no lock on the run.
   */
  async renewLease(execution: ExecutionRef, database: Queryable = this.database): Promise<boolean> {
    const renewed = await database.query(
      `UPDATE run_executions SET lease_expires_at = now() + make_interval(secs => $3)
        WHERE id = $2 AND run_id = $1 AND ended_at IS NULL AND stop_requested_at IS NULL RETURNING id`,
      [execution.runId, execution.executionId, this.config.leaseSeconds],
    );
    return renewed.length === 1;
  }

  /** The same at the beginning of a transaction that writes more: until its end nobody else moves the run or stops the execution. */
  async holdLease(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    await lockRun(tx, execution.runId);
    return this.renewLease(execution, tx);
  }

  /** A sign of life of a worker's connection, for the executions that were claimed over it. */
  async renewLeasesOfConnection(connectionId: string): Promise<void> {
    await this.database.query(
      `UPDATE run_executions SET lease_expires_at = now() + make_interval(secs => $2)
        WHERE connection_id = $1 AND ended_at IS NULL AND claimed_at IS NOT NULL`,
      [connectionId, this.config.leaseSeconds],
    );
  }

  /** Ends the execution if its lease has run out by now, in this transaction. */
  async expireLease(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    await lockRun(tx, execution.runId);
    const expired = await tx.query(
      `UPDATE run_executions SET ended_at = now(), end_reason = 'lease_expired'
        WHERE id = $1 AND ended_at IS NULL AND lease_expires_at < now() RETURNING id`,
      [execution.executionId],
    );
    return expired.length === 1;
  }

  /**
   * The set-up failed and the execution keeps its session for so long: its run is FAILED, the execution lives on.
   *
   * @returns until when; undefined when the execution is no longer the run's, or asked to stop
   */
  async retainSession(tx: Tx, execution: ExecutionRef, minutes: number): Promise<Date | undefined> {
    await lockRun(tx, execution.runId);
    const rows = await tx.query<{ session_retained_until: Date }>(
      `UPDATE run_executions e
          SET session_retained_at = coalesce(e.session_retained_at, clock_timestamp()),
              session_retained_until = coalesce(e.session_retained_until, clock_timestamp() + make_interval(mins => $3))
         FROM runs r
        WHERE r.id = $1 AND r.execution_id = $2 AND e.id = $2 AND e.ended_at IS NULL AND e.stop_requested_at IS NULL
          AND (NOT r.state = ANY ($4) OR e.session_retained_until IS NOT NULL)
        RETURNING e.session_retained_until`,
      [execution.runId, execution.executionId, minutes, RUN_STATE_MACHINE.sources('continue')],
    );
    return rows[0]?.session_retained_until;
  }

  /** Asks an execution to stop whose session has been kept for long enough; false when that was done, or it has ended. */
  async endRetention(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    // Whoever sends a message to the session has the same lock: it comes before this, or finds the session gone.
    await lockRun(tx, execution.runId);
    const ended = await tx.query(
      `UPDATE run_executions SET stop_requested_at = now()
        WHERE id = $1 AND ended_at IS NULL AND stop_requested_at IS NULL AND session_retained_until <= clock_timestamp()
        RETURNING id`,
      [execution.executionId],
    );
    return ended.length === 1;
  }

  /** Remembers that the execution is to stop; false when that was known, or it has ended. */
  async requestStop(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    const asked = await tx.query(
      `UPDATE run_executions SET stop_requested_at = now()
        WHERE id = $1 AND ended_at IS NULL AND stop_requested_at IS NULL RETURNING id`,
      [execution.executionId],
    );
    return asked.length === 1;
  }
}
