import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import type { RunSource } from '../domain/run-source.js';
import { RUN_STATE_MACHINE, type RunState } from '../domain/run-state.js';
import { LINEAGE } from './run.repository.js';

/** A run that has ended, as far as those want to know it who act on that. */
export interface EndedRun {
  id: string;
  state: RunState;
  /** Undefined for a run that a person owns. */
  teamUid: string | undefined;
  executorUid: string;
  modelId: string | undefined;
  skillSpec: string | undefined;
  /** What started it, and what started each of its ancestors. */
  lineage: RunSource[];
}

/**
 * The event "a run has ended", for those who act on it: a queue, which every end of an execution joins by its very statement. There is
 * nothing to publish, so nothing can be forgotten by a crash.
 */
@Injectable()
export class EndedRuns {
  /**
   * Takes ends off the queue: they are handled when the transaction commits, and come back when it does not. Whoever else takes some at
   * the time gets others.
   *
   * A run is among them when an execution of it that a worker had taken is over, and so is the run. One that a follow-up continues comes
   * again with its next end.
   */
  async take(tx: Tx, limit: number): Promise<{ taken: number; runs: EndedRun[] }> {
    const rows = await tx.query<{
      taken: number;
      id: string | null;
      state: RunState;
      team_uid: string | null;
      executor_uid: string;
      model_id: string | null;
      skill_spec: string | null;
      lineage: RunSource[];
    }>(
      `WITH head AS (
         SELECT id FROM run_executions WHERE ended_at IS NOT NULL AND end_handled_at IS NULL
          ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
       ), taken AS (
         UPDATE run_executions e SET end_handled_at = now() FROM head WHERE e.id = head.id
         RETURNING e.run_id, coalesce(e.claimed_at, e.started_at) IS NOT NULL AS was_claimed
       ), ended AS (
         SELECT r.id, r.state, r.team_uid, r.executor_uid, r.model_id, r.skill_spec,
                ${LINEAGE} AS lineage
           FROM runs r
          WHERE r.id IN (SELECT run_id FROM taken WHERE was_claimed) AND r.state = ANY ($2)
       )
       SELECT t.count::int AS taken, ended.* FROM (SELECT count(*) FROM taken) t LEFT JOIN ended ON true`,
      [limit, RUN_STATE_MACHINE.sources('continue')],
    );
    return {
      taken: rows[0]?.taken ?? 0,
      runs: rows.flatMap((row) =>
        row.id === null
          ? []
          : [
              {
                id: row.id,
                state: row.state,
                teamUid: row.team_uid ?? undefined,
                executorUid: row.executor_uid,
                modelId: row.model_id ?? undefined,
                skillSpec: row.skill_spec ?? undefined,
                lineage: row.lineage,
              },
            ],
      ),
    };
  }
}
