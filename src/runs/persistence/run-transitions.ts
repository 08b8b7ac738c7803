import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { RUN_STATE_MACHINE, type RunEvent, type RunState } from '../domain/run-state.js';
import type { RunEventType } from '../domain/run-event.js';
import type { StatusMessage } from '../domain/status-message.js';
import { ROOT_RUN, RunEventLog } from './run-event-log.js';

/** The execution that a report is about. Where it is not the run's live one, the report changes nothing. */
export interface ExecutionRef {
  runId: string;
  executionId: number;
}

/** Which of the queue a worker serves: the hosted pool's runs of all teams, or one team's runs for one worker host. */
export type WorkerPool = { kind: 'hosted' } | { kind: 'self_hosted'; teamUid: string; workerHost: string };

export interface AssignedRun extends ExecutionRef {
  title: string;
  prompt: string;
  agentConfig: Record<string, unknown>;
  conversationId?: string;
  createdAt: Date;
  updatedAt: Date;
}

/** An execution `e` that keeps the session of its failed set-up, and can be spoken to. */
export const KEEPS_SESSION = `(e.ended_at IS NULL AND e.stop_requested_at IS NULL
            AND e.session_retained_until > clock_timestamp() AND e.lease_expires_at > clock_timestamp())`;

/** A run `r` that is with a worker: what a team's limit counts. Those that their creators execute are not. */
export const UNDER_WAY = `r.state IN ('PENDING', 'CLAIMED', 'INPROGRESS') AND r.available_at < 'infinity'`;

/** Queued runs `r` that may be assigned now, of the pool. $1 the states to assign from, $2 worker host or '', $3 team or null. */
const ASSIGNABLE = `r.state = 'QUEUED' AND r.state = ANY ($1) AND r.available_at <= now()
            AND coalesce(r.worker_host, '') = $2 AND ($3::uuid IS NULL OR r.team_uid = $3)
            AND NOT EXISTS (SELECT 1 FROM run_executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
            AND (r.conversation_id IS NULL OR NOT EXISTS (
                  SELECT 1 FROM runs o JOIN run_executions e ON e.run_id = o.id AND e.ended_at IS NULL
                   WHERE o.conversation_id = r.conversation_id))`;

/**
 * A run `r` has changed: the moment of the statement, not of the transaction's beginning, and never earlier than the last change. Whoever
 * reads a list in the order of changes is not shown a run a second time because it moved back.
 */
export const TOUCHED = 'updated_at = greatest(r.updated_at, clock_timestamp())';

/** How much of the queue's head is looked at for runs that their teams' limits admit, beside as many as are wanted. */
const LIMITED_HEAD = 100;
const MAX_LIMITED_ATTEMPTS = 5;

/** A run rests after an assignment came to nothing: not at all the first time, then 1, 2, 4 … seconds up to this. */
const MAX_REQUEUE_DELAY_SECONDS = 60;

/**
 * Every change of a run's state. Each is one guarded statement that moves the run only from a state in which its event is accepted
 * (and only for the execution that is named), and writes its timeline event with it, and the event for whoever follows the run. A statement that moves nothing lost a race or
 * came late; what that means is for the use case to say.
 *
 * Locks are taken in the order run, execution.
 */
@Injectable()
export class RunTransitions {
  constructor(private readonly events: RunEventLog) {}

  /**
   * Takes runs off the queue for a worker and opens an execution for each. Claimers wait for each other only where teams have a limit,
   * and then only those that are about to take runs of the same team.
   *
   * @param teamLimit runs of a team that may be under way; 0 = any number
   */
  async assign(
    tx: Tx,
    worker: { pool: WorkerPool; workerId: string; connectionId: string },
    limit: number,
    claimDeadlineSeconds: number,
    teamLimit: number,
  ): Promise<AssignedRun[]> {
    if (teamLimit === 0) return this.take(tx, worker, limit, claimDeadlineSeconds);
    for (let attempt = 1; attempt <= MAX_LIMITED_ATTEMPTS; attempt++) {
      const teams = await this.lockAdmittedTeams(tx, worker.pool, limit, teamLimit);
      if (teams === undefined) break;
      const taken = await this.take(tx, worker, limit, claimDeadlineSeconds, { teams, teamLimit });
      // Otherwise those teams became full during the wait for their locks; another may have room.
      if (taken.length > 0) return taken;
    }
    return [];
  }

  /**
   * Locks the teams at the head of the queue that have room, until the transaction ends: nobody else assigns runs of theirs meanwhile.
   * What is counted in a later statement stays true.
   *
   * @returns undefined when there is nothing to assign; no team when it is personal runs alone
   */
  private async lockAdmittedTeams(
    tx: Tx,
    pool: WorkerPool,
    limit: number,
    teamLimit: number,
  ): Promise<string[] | undefined> {
    const rows = await tx.query<{ team_uid: string | null }>(
      `SELECT DISTINCT team_uid FROM (
         SELECT r.team_uid FROM runs r
          WHERE ${ASSIGNABLE} AND (r.team_uid IS NULL OR r.team_uid NOT IN (${FULL_TEAMS('$5')}))
          ORDER BY r.available_at, r.id LIMIT $4
       ) head ORDER BY team_uid`,
      [...assignableParameters(pool), limit, teamLimit],
    );
    if (rows.length === 0) return undefined;
    const teams = rows.flatMap((row) => (row.team_uid === null ? [] : [row.team_uid]));
    // One after the other, in one order for all: nobody waits for somebody who waits for them.
    for (const team of teams) {
      await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, [`team runs ${team}`]);
    }
    return teams;
  }

  private async take(
    tx: Tx,
    worker: { pool: WorkerPool; workerId: string; connectionId: string },
    limit: number,
    claimDeadlineSeconds: number,
    admitted?: { teams: string[]; teamLimit: number },
  ): Promise<AssignedRun[]> {
    const { pool } = worker;
    const rows = await tx.query<{
      id: string;
      execution_id: string;
      title: string;
      prompt: string;
      agent_config: Record<string, unknown>;
      conversation_id: string | null;
      created_at: Date;
      updated_at: Date;
    }>(
      `WITH ${admitted === undefined ? '' : ADMITTED_CTES}candidate AS (
         SELECT r.id FROM runs r
          WHERE ${ASSIGNABLE}${admitted === undefined ? '' : ' AND r.id IN (SELECT id FROM admitted)'}
          ORDER BY r.available_at, r.id
          LIMIT $4 FOR UPDATE OF r SKIP LOCKED
       ), opened AS (
         INSERT INTO run_executions (run_id, worker_id, connection_id, claim_deadline_at)
         SELECT id, $5, $6, now() + make_interval(secs => $7) FROM candidate
         RETURNING id, run_id
       ), moved AS (
         UPDATE runs r SET state = $8, execution_id = o.id, status_message = NULL, ${TOUCHED}
           FROM opened o WHERE r.id = o.run_id
         RETURNING r.id, r.execution_id, r.title, r.conversation_id, r.created_at, r.updated_at
       ), logged AS (
         INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
         SELECT gen_random_uuid(), id, execution_id, 'run_assigned', jsonb_build_object('worker_id', $5::text) FROM moved
       )
       SELECT m.*, d.prompt, d.agent_config FROM moved m JOIN run_definitions d ON d.run_id = m.id`,
      [
        ...assignableParameters(pool),
        limit,
        worker.workerId,
        worker.connectionId,
        claimDeadlineSeconds,
        RUN_STATE_MACHINE.target('assign'),
        ...(admitted === undefined ? [] : [admitted.teams, admitted.teamLimit]),
      ],
    );
    return rows.map((row) => ({
      runId: row.id,
      executionId: Number(row.execution_id),
      title: row.title,
      prompt: row.prompt,
      agentConfig: row.agent_config,
      conversationId: row.conversation_id ?? undefined,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }));
  }

  /**
   * Opens the executions of runs that their creators execute. They have a lease from the start, which the creator's reports renew.
   *
   * @returns in the order of the runs
   */
  async openSelfExecuted(tx: Tx, runIds: string[], leaseSeconds: number): Promise<ExecutionRef[]> {
    const rows = await tx.query<{ id: string; run_id: string }>(
      `WITH opened AS (
         INSERT INTO run_executions (run_id, claim_deadline_at, claimed_at, lease_expires_at)
         SELECT id, 'infinity', now(), now() + make_interval(secs => $2) FROM unnest($1::uuid[]) AS r (id)
         RETURNING id, run_id
       )
       UPDATE runs r SET execution_id = o.id FROM opened o WHERE r.id = o.run_id RETURNING o.id, o.run_id`,
      [runIds, leaseSeconds],
    );
    const executions = new Map(rows.map((row) => [row.run_id, Number(row.id)]));
    return runIds.flatMap((runId) => {
      const executionId = executions.get(runId);
      return executionId === undefined ? [] : [{ runId, executionId }];
    });
  }

  /** The worker took it. True as well when the runner's first report came before the claim, or the claim comes twice. */
  async claim(tx: Tx, execution: ExecutionRef, leaseSeconds: number): Promise<boolean> {
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
      [...this.moveParameters('claim', execution, 'oz_run_claimed'), leaseSeconds],
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

  /** Closes an execution, whatever became of its run; false when it was closed before. */
  async endExecution(tx: Tx, execution: ExecutionRef, reason: string): Promise<boolean> {
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
  async renewLease(database: Queryable, execution: ExecutionRef, leaseSeconds: number): Promise<boolean> {
    const renewed = await database.query(
      `UPDATE run_executions SET lease_expires_at = now() + make_interval(secs => $3)
        WHERE id = $2 AND run_id = $1 AND ended_at IS NULL AND stop_requested_at IS NULL RETURNING id`,
      [execution.runId, execution.executionId, leaseSeconds],
    );
    return renewed.length === 1;
  }

  /** The same at the beginning of a transaction that writes more: until its end nobody else moves the run or stops the execution. */
  async holdLease(tx: Tx, execution: ExecutionRef, leaseSeconds: number): Promise<boolean> {
    await lockRun(tx, execution.runId);
    return this.renewLease(tx, execution, leaseSeconds);
  }

  /** A sign of life of a worker's connection, for the executions that were claimed over it. */
  async renewLeasesOfConnection(
    database: Queryable,
    connectionId: string,
    leaseSeconds: number,
  ): Promise<void> {
    await database.query(
      `UPDATE run_executions SET lease_expires_at = now() + make_interval(secs => $2)
        WHERE connection_id = $1 AND ended_at IS NULL AND claimed_at IS NOT NULL`,
      [connectionId, leaseSeconds],
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

/** The teams that have as many runs under way as they may. @param limit a parameter of the statement, such as `$4` */
export const FULL_TEAMS = (limit: string): string => `
  SELECT r.team_uid FROM runs r WHERE ${UNDER_WAY} AND r.team_uid IS NOT NULL GROUP BY r.team_uid HAVING count(*) >= ${limit}`;

/** `admitted`: the head of the queue, of each of the locked teams ($9) no more than there is room for under the limit ($10). */
const ADMITTED_CTES = `head AS (
         SELECT r.id, r.team_uid, r.available_at FROM runs r
          WHERE ${ASSIGNABLE} AND (r.team_uid IS NULL OR r.team_uid = ANY ($9::uuid[]))
          ORDER BY r.available_at, r.id LIMIT $4 + ${String(LIMITED_HEAD)}
       ), under_way AS (
         SELECT r.team_uid, count(*) AS runs FROM runs r WHERE r.team_uid = ANY ($9::uuid[]) AND ${UNDER_WAY} GROUP BY r.team_uid
       ), admitted AS (
         SELECT h.id
           FROM (SELECT *, row_number() OVER (PARTITION BY team_uid ORDER BY available_at, id) AS place FROM head) h
           LEFT JOIN under_way u USING (team_uid)
          WHERE h.team_uid IS NULL OR h.place <= $10 - coalesce(u.runs, 0)
       ), `;

const assignableParameters = (pool: WorkerPool): unknown[] => [
  RUN_STATE_MACHINE.sources('assign'),
  pool.kind === 'hosted' ? '' : pool.workerHost,
  pool.kind === 'hosted' ? null : pool.teamUid,
];

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
