import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { RUN_STATE_MACHINE, type RunEvent, type RunState } from '../domain/run-state.js';
import type { RunEventType } from '../domain/run-event.js';
import type { StatusMessage } from '../domain/status-message.js';
import { ROOT_RUN, RunEventLog } from './run-event-log.js';

/** The execution that a report is about. Where it is not the run's live one, the report changes nothing. */
export interface ExecutionRef {
  runId: string;
  executionId: number;
}

/**
 * A run `r` has changed: the moment of the statement, not of the transaction's beginning, and never earlier than the last change. Whoever
 * reads a list in the order of changes is not shown a run a second time because it moved back.
 */
export const TOUCHED = 'updated_at = greatest(r.updated_at, clock_timestamp())';

/** A run rests after an assignment came to nothing: not at all the first time, then 1, 2, 4 … seconds up to this. */
const MAX_REQUEUE_DELAY_SECONDS = 60;

/**
 * Every change of a run's state but the assignment, which is `RunQueue`'s. Each is one guarded statement that moves the run only from a
 * state in which its event is accepted (and only for the execution that is named), and writes its timeline event with it, and the event for
 * whoever follows the run. A statement that moves nothing lost a race or came late; what that means is for the use case to say.
 *
 * Locks are taken in the order run, execution.
 */
@Injectable()
export class RunTransitions {
  constructor(
    private readonly events: RunEventLog,
    private readonly config: AppConfig,
  ) {}

  /** The worker took it. True as well when the runner's first report came before the claim, or the claim comes twice. */
  async claim(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    await lockRun(tx, execution.runId);
    const claimed = await tx.query(
      `WITH ${this.moveCte('claim')},
       claimed AS (
         UPDATE run_executions e
            SET claimed_at = coalesce(e.claimed_at, now()), lease_expires_at = now() + make_interval(secs => $7)
           FROM runs r
          WHERE r.id = $1 AND r.execution_id = $2 AND e.id = $2 AND e.ended_at IS NULL
            AND (r.state IN ('CLAIMED', 'INPROGRESS') OR EXISTS (SELECT 1 FROM moved))
         RETURNING e.id
       )
       SELECT id FROM claimed`,
      [...this.moveParameters('claim', execution, 'oz_run_claimed'), this.config.leaseSeconds],
    );
    return claimed.length === 1;
  }

  /** The agent is at work. */
  async begin(tx: Tx, execution: ExecutionRef): Promise<void> {
    this.events.numberAfter(tx);
    await tx.query(
      `WITH ${this.moveCte('begin', ', started_at = coalesce(r.started_at, now())')},
       begun AS (
         UPDATE run_executions e
            SET started_at = coalesce(e.started_at, now()), claimed_at = coalesce(e.claimed_at, now())
           FROM moved m WHERE e.id = m.execution_id
       )
       SELECT id FROM moved`,
      this.moveParameters('begin', execution, 'run_in_progress'),
    );
  }

  /** The execution's outcome. The first one stands. */
  async finish(
    tx: Tx,
    execution: ExecutionRef,
    event: Extract<RunEvent, 'succeed' | 'fail' | 'block' | 'error'>,
    statusMessage: StatusMessage | null,
  ): Promise<boolean> {
    this.events.numberAfter(tx);
    const moved = await tx.query(
      `WITH ${this.moveCte(event, ', status_message = $7::jsonb')}
       SELECT id FROM moved`,
      [
        ...this.moveParameters(event, execution, TERMINAL_EVENT_TYPES[event], statusMessage),
        statusMessage === null ? null : JSON.stringify(statusMessage),
      ],
    );
    return moved.length === 1;
  }

  /**
   * Queues a run again that ended without the messages which came while its execution was there, in the transaction of the outcome.
   * Not one that its creator executes: no worker would come for it.
   * Messages from before the assignment belong to the prompt: an agent that fails before it gets them is not started for ever.
   */
  continueUndelivered(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    return this.continueIf(tx, execution, 'e.session_retained_until IS NULL');
  }

  /** The same for a run that failed in its set-up, at the end of the session that was kept: nobody took the messages there. */
  continueAfterDebugging(tx: Tx, execution: ExecutionRef): Promise<boolean> {
    return this.continueIf(
      tx,
      execution,
      `e.session_retained_until IS NOT NULL AND e.ended_at IS NOT NULL AND r.state = 'FAILED'
            AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.conversation_id = r.conversation_id AND o.id <> r.id
                               AND NOT o.state = ANY ($4))`,
    );
  }

  private async continueIf(tx: Tx, execution: ExecutionRef, condition: string): Promise<boolean> {
    const continued = await tx.query(
      `WITH continued AS (
         UPDATE runs r SET state = $3, status_message = NULL, available_at = now(), ${TOUCHED}
           FROM run_executions e
          WHERE r.id = $1 AND r.execution_id = $2 AND e.id = $2 AND r.state = ANY ($4) AND r.available_at < 'infinity'
            AND ${condition}
            AND EXISTS (SELECT 1 FROM run_messages m WHERE m.run_id = r.id
                         AND m.delivered_execution_id IS NULL AND m.created_at >= e.assigned_at)
         RETURNING r.id
       )
       INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
       SELECT gen_random_uuid(), id, $2, 'run_requeued', jsonb_build_object('reason', 'followup') FROM continued
       RETURNING run_id`,
      [
        execution.runId,
        execution.executionId,
        RUN_STATE_MACHINE.target('continue'),
        RUN_STATE_MACHINE.sources('continue'),
      ],
    );
    return continued.length === 1;
  }

  /** An assignment came to nothing: its execution ends and the run is queued again, a little later each time. */
  async requeue(tx: Tx, execution: ExecutionRef, reason: string): Promise<boolean> {
    const moved = await tx.query(
      `WITH ${this.moveCte('requeue', `, available_at = now() + make_interval(secs => ${REQUEUE_DELAY_SQL})`)},
       ended AS (
         UPDATE run_executions e SET ended_at = now(), end_reason = $7, prompt_resolved_at = NULL
           FROM moved m WHERE e.id = m.execution_id
       ), taken_back AS (
         UPDATE run_messages g SET delivered_execution_id = NULL, delivered_at = NULL
           FROM moved m WHERE g.run_id = m.id AND g.delivered_execution_id = m.execution_id
       )
       SELECT id FROM moved`,
      [...this.moveParameters('requeue', execution, 'run_requeued', { reason }), reason],
    );
    return moved.length === 1;
  }

  /**
   * Cancels in one statement that judges and writes: `was` is the state in which the run was found, and stands for the moment of
   * the cancel; undefined when there is no such run within the scope.
   */
  async cancel(
    tx: Tx,
    runId: string,
    scope: { teamUid: string | null; ownerUid: string | null },
    uncancellableSources: readonly string[],
    byUid: string,
  ): Promise<
    { was: RunState; cancellableType: boolean; cancelled: boolean; stopping?: ExecutionRef } | undefined
  > {
    this.events.numberAfter(tx);
    await lockRun(tx, runId);
    const rows = await tx.query<{
      was: RunState;
      cancellable_type: boolean;
      cancelled: boolean;
      execution_id: string | null;
    }>(
      `WITH found AS (
         SELECT r.id, r.state, r.execution_id,
                r.worker_host IS NULL AND NOT r.source = ANY ($6) AS cancellable_type
           FROM runs r WHERE r.id = $1 AND (r.team_uid = $2 OR r.owner_uid = $3) FOR UPDATE
       ), moved AS (
         UPDATE runs r
            SET state = $4, ${TOUCHED}, status_message = jsonb_build_object('message', 'Cancelled by request')
           FROM found f
          WHERE r.id = f.id AND f.cancellable_type AND f.state = ANY ($5)
         RETURNING r.id, r.execution_id, ${ROOT_RUN} AS root_run_id
       ), ${announceCte('run_cancelled')}, logged AS (
         INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
         SELECT gen_random_uuid(), m.id, m.execution_id, event_type, jsonb_build_object('by', $7::text)
           FROM moved m CROSS JOIN unnest(ARRAY['cancel_requested', 'oz_run_cancelled']) WITH ORDINALITY AS t (event_type, n)
          ORDER BY n
       ), stopping AS (
         UPDATE run_executions e SET stop_requested_at = now()
           FROM moved m WHERE e.run_id = m.id AND e.ended_at IS NULL
         RETURNING e.id
       )
       SELECT f.state AS was, f.cancellable_type, EXISTS (SELECT 1 FROM moved) AS cancelled,
              (SELECT id FROM stopping) AS execution_id
         FROM found f`,
      [
        runId,
        scope.teamUid,
        scope.ownerUid,
        RUN_STATE_MACHINE.target('cancel'),
        RUN_STATE_MACHINE.sources('cancel'),
        uncancellableSources,
        byUid,
      ],
    );
    const row = rows[0];
    if (row === undefined) return undefined;
    return {
      was: row.was,
      cancellableType: row.cancellable_type,
      cancelled: row.cancelled,
      stopping: row.execution_id === null ? undefined : { runId, executionId: Number(row.execution_id) },
    };
  }

  /** `moved`: the guarded update and its timeline event. $1 run, $2 execution, $3 target, $4 sources, $5 event type, $6 payload. */
  private moveCte(event: RunEvent, set = ''): string {
    // These are not reported by an execution, so there is none to be fenced by. Of what is queued only the runs that their creators
    // execute have a live execution; that of the others is over.
    if (event === 'assign' || event === 'cancel' || event === 'continue')
      throw new Error(`${event} has a statement of its own`);
    const announcement = ANNOUNCEMENTS[event];
    return `moved AS (
         UPDATE runs r SET state = $3, ${TOUCHED}${set}
          WHERE r.id = $1 AND r.execution_id = $2 AND r.state = ANY ($4)
            AND (r.state <> 'QUEUED' OR r.available_at = 'infinity')
         RETURNING r.id, r.execution_id, ${ROOT_RUN} AS root_run_id
       ), logged AS (
         INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
         SELECT gen_random_uuid(), id, execution_id, $5, $6::jsonb FROM moved
       )${announcement === undefined ? '' : `, ${announceCte(announcement)}`}`;
  }

  private moveParameters(
    event: RunEvent,
    execution: ExecutionRef,
    eventType: string,
    payload?: object | null,
  ): unknown[] {
    return [
      execution.runId,
      execution.executionId,
      RUN_STATE_MACHINE.target(event),
      RUN_STATE_MACHINE.sources(event),
      eventType,
      payload === undefined || payload === null ? null : JSON.stringify(payload),
    ];
  }
}

/**
 * For the order of locks; and for a statement that reads more than the row that it moves: had it to wait for that row itself, it would
 * see the other rows as they were when the wait began.
 */
export const lockRun = async (tx: Tx, runId: string): Promise<void> => {
  await tx.query(`SELECT 1 FROM runs WHERE id = $1 FOR NO KEY UPDATE`, [runId]);
};

const REQUEUE_DELAY_SQL = `least(${String(MAX_REQUEUE_DELAY_SECONDS)}, floor(2 ^ least(20, (
  SELECT count(*) - 2 FROM run_executions e WHERE e.run_id = r.id AND e.started_at IS NULL))))`;

/** `announced`: the event for whoever follows a run that has `moved`. */
const announceCte = (eventType: RunEventType): string => `announced AS (
         INSERT INTO run_events (run_id, root_run_id, execution_id, event_type)
         SELECT id, root_run_id, execution_id, '${eventType}' FROM moved
       )`;

/** What followers learn of a transition; of the others nothing. */
const ANNOUNCEMENTS: Partial<Record<RunEvent, RunEventType>> = {
  begin: 'run_in_progress',
  succeed: 'run_succeeded',
  fail: 'run_failed',
  block: 'run_blocked',
  error: 'run_errored',
};

const TERMINAL_EVENT_TYPES = {
  succeed: 'oz_run_done',
  fail: 'oz_run_failed',
  block: 'oz_run_blocked',
  error: 'oz_run_errored',
} as const;
