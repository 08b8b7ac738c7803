import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import { RUN_STATE_MACHINE, type RunState } from '../domain/run-state.js';
import type { RunMode } from '../domain/run-mode.js';
import type { RunSource } from '../domain/run-source.js';
import { ROOT_RUN, RunEventLog } from './run-event-log.js';
import { KEEPS_SESSION } from './run-execution.repository.js';
import { type ExecutionRef, lockRun, TOUCHED } from './run-transitions.js';

/** Messages of a run that may wait for its agent at a time, and the characters in all of them together. */
export const MAX_WAITING_MESSAGES = 100;
export const MAX_WAITING_CHARACTERS = 5_000_000;

const JUDGE_SOURCE: RunSource = 'RUN_SCORER';

export type FollowUpVerdict = 'accepted' | 'empty' | 'too_many' | 'conversation_busy';

/** A message as its agent is handed it. */
export interface WaitingMessage {
  id: string;
  message: string;
  mode: RunMode | null;
  subject: string | null;
  senderRunId: string | null;
}

/** What waits for the agent of a run `r`. */
const WAITING = `CROSS JOIN LATERAL (SELECT count(*) AS messages, coalesce(sum(char_length(message)), 0) AS characters
                                FROM run_messages m WHERE m.run_id = r.id AND m.delivered_execution_id IS NULL) w`;

/**
 * The judges among a run `r` and its ancestors. Agents write to each other where these are the same: a judge and whatever it starts among
 * themselves, so that no graded agent can talk to its judge, nor a judge, which has read what strangers wrote, to agents at work.
 */
const JUDGES = `ARRAY(SELECT j.id FROM runs j WHERE j.source = '${JUDGE_SOURCE}' AND j.id = ANY (r.ancestor_ids || r.id) ORDER BY j.id)`;

/** The next place among the messages of `run_id`. */
const nextSequence = (runId: string): string =>
  `(SELECT coalesce(max(sequence), 0) + 1 FROM run_messages m WHERE m.run_id = ${runId})`;

/**
 * The messages that people, and agents of the same tree, send to runs. Every statement is made under the lock on the run's row, so they
 * have one order.
 *
 * A message is given to an agent in two steps: it is fetched, which changes nothing, and it is delivered just before the agent is told.
 * An execution that dies in between leaves it to the next one; after that no other gets it.
 */
@Injectable()
export class RunMessageRepository {
  constructor(private readonly events: RunEventLog) {}

  /**
   * Judges and adds a follow-up in one statement. A run that has ended is queued again with it, unless its last execution keeps the
   * session of its failed set-up: then the message is for that.
   *
   * @returns the state in which the run was found; undefined when there is no such run within the scope
   */
  async add(
    tx: Tx,
    runId: string,
    scope: { teamUid: string | null; ownerUid: string | null },
    followUp: { message: string; mode: RunMode | null; authorUid: string },
  ): Promise<{ was: RunState; verdict: FollowUpVerdict; continued: boolean } | undefined> {
    this.events.numberAfter(tx);
    await lockRun(tx, runId);
    // Whatever else would begin to speak in the conversation comes before this or waits for its end.
    await tx.query(
      `SELECT 1 FROM conversations WHERE id = (SELECT conversation_id FROM runs WHERE id = $1) FOR UPDATE`,
      [runId],
    );
    const rows = await tx.query<{ was: RunState; verdict: FollowUpVerdict; continued: boolean }>(
      `WITH found AS (
         SELECT r.id, r.state, r.execution_id, ${ROOT_RUN} AS root_run_id, w.messages, w.characters,
                r.state = ANY ($4) AND NOT (r.state = 'FAILED' AND EXISTS (
                  SELECT 1 FROM run_executions e WHERE e.id = r.execution_id AND ${KEEPS_SESSION})) AS ended,
                EXISTS (SELECT 1 FROM conversations c
                         WHERE c.id = r.conversation_id AND c.transcript_key IS NOT NULL) AS saved,
                EXISTS (SELECT 1 FROM runs o WHERE o.conversation_id = r.conversation_id AND o.id <> r.id
                           AND NOT o.state = ANY ($4)) AS busy
           FROM runs r ${WAITING}
          WHERE r.id = $1 AND (r.team_uid = $2 OR r.owner_uid = $3)
       ), judged AS (
         SELECT f.*,
                CASE WHEN $6 = '' AND NOT (f.ended AND f.saved) THEN 'empty'
                     WHEN f.messages >= $9 OR f.characters + char_length($6) > $10 THEN 'too_many'
                     WHEN f.ended AND f.busy THEN 'conversation_busy'
                     ELSE 'accepted' END AS verdict
           FROM found f
       ), added AS (
         INSERT INTO run_messages (id, run_id, sequence, message, mode, author_uid, created_at)
         SELECT gen_random_uuid(), id, ${nextSequence('j.id')}, $6, $7, $8, clock_timestamp() FROM judged j WHERE verdict = 'accepted'
         RETURNING run_id, sequence, id
       ), continued AS (
         UPDATE runs r SET state = $5, status_message = NULL, available_at = now(), ${TOUCHED}
           FROM judged j WHERE r.id = j.id AND j.ended AND j.verdict = 'accepted'
         RETURNING r.id
       ), announced AS (
         INSERT INTO run_events (run_id, root_run_id, execution_id, event_type, ref_id)
         SELECT j.id, j.root_run_id, CASE WHEN NOT j.ended THEN j.execution_id END, 'new_message', a.id
           FROM judged j JOIN added a ON a.run_id = j.id
       ), logged AS (
         INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
         SELECT gen_random_uuid(), j.id, j.execution_id, 'followup_received',
                jsonb_build_object('by', $8::text, 'sequence', a.sequence, 'continues', j.ended)
           FROM judged j JOIN added a ON a.run_id = j.id
       )
       SELECT state AS was, verdict, EXISTS (SELECT 1 FROM continued) AS continued FROM judged`,
      [
        runId,
        scope.teamUid,
        scope.ownerUid,
        RUN_STATE_MACHINE.sources('continue'),
        RUN_STATE_MACHINE.target('continue'),
        followUp.message,
        followUp.mode,
        followUp.authorUid,
        MAX_WAITING_MESSAGES,
        MAX_WAITING_CHARACTERS,
      ],
    );
    return rows[0];
  }

  /**
   * Adds a message of one run's agent to another run of the same tree. It never queues a run again: to one that has ended it waits for
   * the next execution that somebody starts.
   *
   * @returns the message's id; undefined when there is no such run in the sender's tree, or a judge stands between them
   */
  async addFromRun(
    tx: Tx,
    runId: string,
    sent: { senderRunId: string; subject: string; message: string },
  ): Promise<{ verdict: 'accepted'; id: string } | { verdict: 'too_many' } | undefined> {
    this.events.numberAfter(tx);
    await lockRun(tx, runId);
    const rows = await tx.query<{ id: string | null }>(
      `WITH found AS (
         SELECT r.id, r.state, r.execution_id, r.root_run_id, s.executor_uid, w.messages, w.characters
           FROM (SELECT r.*, ${ROOT_RUN} AS root_run_id, ${JUDGES} AS judges FROM runs r WHERE r.id = $1) r
           JOIN (SELECT r.*, ${ROOT_RUN} AS root_run_id, ${JUDGES} AS judges FROM runs r WHERE r.id = $2) s
             USING (root_run_id, judges) ${WAITING}
       ), added AS (
         INSERT INTO run_messages (id, run_id, sequence, message, subject, sender_run_id, author_uid, created_at)
         SELECT gen_random_uuid(), id, ${nextSequence('f.id')}, $4, $3, $2, executor_uid, clock_timestamp() FROM found f
          WHERE f.messages < $5 AND f.characters + char_length($4) <= $6
         RETURNING run_id, sequence, id
       ), announced AS (
         INSERT INTO run_events (run_id, root_run_id, execution_id, event_type, ref_id)
         SELECT f.id, f.root_run_id, CASE WHEN NOT f.state = ANY ($7) THEN f.execution_id END, 'new_message', a.id
           FROM found f JOIN added a ON a.run_id = f.id
       ), logged AS (
         INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
         SELECT gen_random_uuid(), f.id, f.execution_id, 'message_received',
                jsonb_build_object('by_run', $2::text, 'sequence', a.sequence)
           FROM found f JOIN added a ON a.run_id = f.id
       )
       SELECT (SELECT id FROM added) AS id FROM found`,
      [
        runId,
        sent.senderRunId,
        sent.subject,
        sent.message,
        MAX_WAITING_MESSAGES,
        MAX_WAITING_CHARACTERS,
        RUN_STATE_MACHINE.sources('continue'),
      ],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    return row.id === null ? { verdict: 'too_many' } : { verdict: 'accepted', id: row.id };
  }

  /**
   * The messages that belong to an execution's prompt, in their order: all that waited when it was first asked for, which are
   * delivered with that. Asked again, the same.
   *
   * @returns also whether this is the first execution of the run that gets a prompt
   */
  async deliverPrompt(
    tx: Tx,
    { runId, executionId }: ExecutionRef,
  ): Promise<{ isFirst: boolean; messages: string[] }> {
    await lockRun(tx, runId);
    await tx.query(
      `WITH resolved AS (
         UPDATE run_executions e SET prompt_resolved_at = now()
           FROM runs r
          WHERE r.id = $1 AND r.execution_id = $2 AND (NOT r.state = ANY ($3) OR (r.state = 'QUEUED' AND r.available_at = 'infinity'))
            AND e.id = $2 AND e.run_id = $1 AND e.ended_at IS NULL AND e.prompt_resolved_at IS NULL
         RETURNING e.id
       )
       UPDATE run_messages m
          SET delivered_execution_id = e.id, delivered_at = now(), read_at = coalesce(m.read_at, now())
         FROM resolved e WHERE m.run_id = $1 AND m.delivered_execution_id IS NULL`,
      // A run that is queued for a worker keeps its messages for the execution to come.
      [runId, executionId, [...RUN_STATE_MACHINE.sources('continue'), RUN_STATE_MACHINE.target('continue')]],
    );
    const [first] = await tx.query<{ is_first: boolean }>(
      `SELECT NOT EXISTS (SELECT 1 FROM run_executions
                           WHERE run_id = $1 AND id < $2 AND prompt_resolved_at IS NOT NULL) AS is_first`,
      [runId, executionId],
    );
    const messages = await tx.query<{ message: string }>(
      `SELECT m.message FROM run_messages m JOIN run_executions e ON e.id = m.delivered_execution_id
        WHERE m.run_id = $1 AND e.id = $2 AND m.delivered_at <= e.prompt_resolved_at ORDER BY m.sequence`,
      [runId, executionId],
    );
    return { isFirst: first?.is_first ?? true, messages: messages.map(({ message }) => message) };
  }

  /**
   * The messages that came after the execution's prompt and wait for its agent, in their order; of an execution that keeps the session
   * of its failed set-up, those that came while it was there. Changes nothing.
   */
  async waitingFor(tx: Tx, { runId, executionId }: ExecutionRef): Promise<WaitingMessage[]> {
    return tx.query<WaitingMessage>(
      `SELECT m.id, m.message, m.mode, m.subject, m.sender_run_id AS "senderRunId"
         FROM run_messages m JOIN run_executions e ON e.id = $2 JOIN runs r ON r.id = m.run_id AND r.execution_id = e.id
        WHERE m.run_id = $1 AND m.delivered_execution_id IS NULL AND ${MAY_GET} ORDER BY m.sequence`,
      [runId, executionId],
    );
  }

  /**
   * Remembers that the execution's agent is told these messages now. Repeated, it changes nothing.
   *
   * @returns whether all of them are the execution's by now; otherwise none was given to it
   */
  async deliver(tx: Tx, { runId, executionId }: ExecutionRef, ids: string[]): Promise<boolean> {
    await lockRun(tx, runId);
    const rows = await tx.query(
      `WITH wanted AS (
         SELECT m.sequence, m.delivered_execution_id IS NULL AND ${MAY_GET} AS open, m.delivered_execution_id = $2 AS given
           FROM run_messages m JOIN run_executions e ON e.id = $2 JOIN runs r ON r.id = m.run_id AND r.execution_id = e.id
          WHERE m.run_id = $1 AND m.id = ANY ($3::uuid[])
       ), verdict AS (
         SELECT count(*) FILTER (WHERE open OR given) = $4 AS all_fit FROM wanted
       ), delivered AS (
         UPDATE run_messages m
            SET delivered_execution_id = $2, delivered_at = clock_timestamp(), read_at = coalesce(m.read_at, clock_timestamp())
           FROM wanted w, verdict v WHERE m.run_id = $1 AND m.sequence = w.sequence AND w.open AND v.all_fit
       )
       SELECT 1 FROM verdict WHERE all_fit`,
      [runId, executionId, ids, new Set(ids).size],
    );
    return rows.length === 1;
  }
}

/** Whether the execution `e` of a run `r` gets a message `m` that nobody has yet. */
const MAY_GET = `(e.ended_at IS NULL AND (
           (e.prompt_resolved_at IS NOT NULL AND r.state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS')
              AND (r.state <> 'QUEUED' OR r.available_at = 'infinity'))
           OR (r.state = 'FAILED' AND ${KEEPS_SESSION} AND m.created_at >= e.assigned_at)))`;
