import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import { RUN_STATE_MACHINE, type RunState } from '../domain/run-state.js';
import type { RunMode } from '../domain/run-mode.js';
import { type ExecutionRef, lockRun } from './run-transitions.js';

/** Messages of a run that may wait for its agent at a time, and the characters in all of them together. */
export const MAX_WAITING_MESSAGES = 100;
export const MAX_WAITING_CHARACTERS = 5_000_000;

export type FollowUpVerdict = 'accepted' | 'empty' | 'too_many' | 'conversation_busy';

/** The messages that people send to runs. Every statement is made under the lock on the run's row, so they have one order. */
@Injectable()
export class RunMessageRepository {
  /**
   * Judges and adds a follow-up in one statement; a run that has ended is queued again with it.
   *
   * @returns the state in which the run was found; undefined when there is no such run within the scope
   */
  async add(
    tx: Tx,
    runId: string,
    scope: { teamUid: string | null; ownerUid: string | null },
    followUp: { message: string; mode: RunMode | null; authorUid: string },
  ): Promise<{ was: RunState; verdict: FollowUpVerdict; continued: boolean } | undefined> {
    await lockRun(tx, runId);
    // Whatever else would begin to speak in the conversation comes before this or waits for its end.
    await tx.query(
      `SELECT 1 FROM conversations WHERE id = (SELECT conversation_id FROM runs WHERE id = $1) FOR UPDATE`,
      [runId],
    );
    const rows = await tx.query<{ was: RunState; verdict: FollowUpVerdict; continued: boolean }>(
      `WITH found AS (
         SELECT r.id, r.state, r.execution_id, r.state = ANY ($4) AS ended, w.messages, w.characters,
                EXISTS (SELECT 1 FROM conversations c
                         WHERE c.id = r.conversation_id AND c.transcript_key IS NOT NULL) AS saved,
                EXISTS (SELECT 1 FROM runs o WHERE o.conversation_id = r.conversation_id AND o.id <> r.id
                           AND NOT o.state = ANY ($4)) AS busy
           FROM runs r
          CROSS JOIN LATERAL (SELECT count(*) AS messages, coalesce(sum(char_length(message)), 0) AS characters
                                FROM run_messages m WHERE m.run_id = r.id AND m.delivered_execution_id IS NULL) w
          WHERE r.id = $1 AND (r.team_uid = $2 OR r.owner_uid = $3)
       ), judged AS (
         SELECT f.*,
                CASE WHEN $6 = '' AND NOT (f.ended AND f.saved) THEN 'empty'
                     WHEN f.messages >= $9 OR f.characters + char_length($6) > $10 THEN 'too_many'
                     WHEN f.ended AND f.busy THEN 'conversation_busy'
                     ELSE 'accepted' END AS verdict
           FROM found f
       ), added AS (
         INSERT INTO run_messages (run_id, sequence, message, mode, author_uid, created_at)
         SELECT id, (SELECT coalesce(max(sequence), 0) + 1 FROM run_messages m WHERE m.run_id = j.id), $6, $7, $8,
                clock_timestamp()
           FROM judged j WHERE verdict = 'accepted'
         RETURNING run_id, sequence
       ), continued AS (
         UPDATE runs r SET state = $5, status_message = NULL, available_at = now(), updated_at = now()
           FROM judged j WHERE r.id = j.id AND j.ended AND j.verdict = 'accepted'
         RETURNING r.id
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
       UPDATE run_messages m SET delivered_execution_id = e.id, delivered_at = now()
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
}
