import { Injectable } from '@nestjs/common';
import type { Harness } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { NewEvaluation, WaitingEvaluation } from '../domain/evaluation.js';
import type { CapturedScorer, Score } from '../domain/verdict.js';

/** Writes of evaluations and their scores. */
@Injectable()
export class EvaluationRepository {
  /**
   * Records evaluations with their scorers as they are now: what is changed later does not change the judge's task. A scorer that has
   * sampled its run before is left out, and with it an evaluation of which nothing is left.
   */
  async insert(tx: Tx, evaluations: NewEvaluation[]): Promise<void> {
    await tx.query(
      `WITH given AS (
         SELECT * FROM jsonb_to_recordset($1::jsonb) AS g (
           id uuid, team_uid uuid, run_id uuid, requested_by uuid, judge_model_id text, judge_harness jsonb,
           agent_uid uuid, model_id text, skill_spec text, scorer_ids integer[])
       ), captured AS (
         INSERT INTO evaluation_scores (evaluation_id, scorer_id, scorer_name, rubric, labels, passing_score, run_id, sampled,
                                        agent_uid, model_id, skill_spec)
         SELECT g.id, s.id, s.name, s.rubric, s.labels, s.passing_score, g.run_id, g.requested_by IS NULL,
                g.agent_uid, g.model_id, g.skill_spec
           FROM given g JOIN scorers s ON s.id = ANY (g.scorer_ids)
          ORDER BY g.run_id, s.id
         ON CONFLICT DO NOTHING
         RETURNING evaluation_id
       )
       INSERT INTO evaluations (id, team_uid, run_id, requested_by, model_id, harness)
       SELECT id, team_uid, run_id, requested_by, judge_model_id, judge_harness
         FROM given WHERE id IN (SELECT evaluation_id FROM captured)`,
      [JSON.stringify(evaluations.map(toRow))],
    );
  }

  /**
   * Takes an evaluation whose judge has no run yet, the longest waiting first. Nobody else gets it for this long; where whoever took it
   * fails to dispatch it, or dies, it comes again after that.
   */
  async takeWaiting(tx: Tx, seconds: number): Promise<WaitingEvaluation | undefined> {
    const rows = await tx.query<{
      id: string;
      team_uid: string;
      run_id: string;
      requested_by: string | null;
      model_id: string | null;
      harness: Harness;
      scorers: WaitingEvaluation['scorers'];
    }>(
      `WITH head AS (
         SELECT id FROM evaluations WHERE judge_run_id IS NULL AND problem IS NULL AND dispatch_at <= now()
          ORDER BY dispatch_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
       )
       UPDATE evaluations e SET dispatch_at = now() + make_interval(secs => $1)
         FROM head WHERE e.id = head.id
       RETURNING e.id, e.team_uid, e.run_id, e.requested_by, e.model_id, e.harness,
                 (SELECT json_agg(json_build_object('id', s.scorer_id, 'name', s.scorer_name, 'rubric', s.rubric, 'labels', s.labels)
                                  ORDER BY s.scorer_id)
                    FROM evaluation_scores s WHERE s.evaluation_id = e.id) AS scorers`,
      [seconds],
    );
    const row = rows[0];
    return (
      row && {
        id: row.id,
        teamUid: row.team_uid,
        runId: row.run_id,
        requestedBy: row.requested_by ?? undefined,
        judge: { modelId: row.model_id ?? undefined, harness: row.harness },
        scorers: row.scorers,
      }
    );
  }

  /** The judge has its run. */
  async setJudgeRun(tx: Tx, id: string, judgeRunId: string): Promise<void> {
    await tx.query('UPDATE evaluations SET judge_run_id = $2 WHERE id = $1 AND judge_run_id IS NULL', [
      id,
      judgeRunId,
    ]);
  }

  /** It can never be dispatched. */
  async setProblem(tx: Tx, id: string, problem: string): Promise<void> {
    await tx.query('UPDATE evaluations SET problem = $2 WHERE id = $1 AND judge_run_id IS NULL', [
      id,
      problem,
    ]);
  }

  /**
   * The evaluation that a judge's run was made for, if it is one of this run, with its scorers as they were captured. Reports of one
   * judge take turns until the transaction ends.
   */
  async lockForReport(
    tx: Tx,
    judgeRunId: string,
    runId: string,
  ): Promise<{ id: string; scorers: CapturedScorer[] } | undefined> {
    const [evaluation] = await tx.query<{ id: string }>(
      'SELECT id FROM evaluations WHERE judge_run_id = $1 AND run_id = $2 FOR NO KEY UPDATE',
      [judgeRunId, runId],
    );
    if (evaluation === undefined) return undefined;
    const scorers = await tx.query<CapturedScorer>(
      `SELECT scorer_id AS "scorerId", labels, passing_score AS "passingScore"
         FROM evaluation_scores WHERE evaluation_id = $1`,
      [evaluation.id],
    );
    return { id: evaluation.id, scorers };
  }

  /** Keeps the scores; each replaces an earlier one. */
  async record(tx: Tx, evaluationId: string, scores: Score[]): Promise<void> {
    if (scores.length === 0) return;
    await tx.query(
      `UPDATE evaluation_scores s
          SET failed = v.failed, classification = v.classification, score = v.score, passed = v.passed, reason = v.reason,
              reported_at = now()
         FROM jsonb_to_recordset($2::jsonb) AS v (
              "scorerId" integer, failed boolean, classification text, score double precision, passed boolean, reason text)
        WHERE s.evaluation_id = $1 AND s.scorer_id = v."scorerId"`,
      [evaluationId, JSON.stringify(scores)],
    );
  }
}

const toRow = ({ id, run, judge, scorerIds, requestedBy }: NewEvaluation): object => ({
  id,
  team_uid: run.teamUid,
  run_id: run.id,
  requested_by: requestedBy,
  judge_model_id: judge.modelId,
  judge_harness: judge.harness,
  agent_uid: run.agentUid,
  model_id: run.modelId,
  skill_spec: run.skillSpec,
  scorer_ids: scorerIds,
});
