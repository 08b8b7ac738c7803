import { ApiProperty } from '@nestjs/swagger';
import { type RunScore, SCORE_STATUSES, type ScoreStatus } from '../domain/score-view.js';

/** What a judge made of the run by one scorer, or has yet to. */
export class RunScoreResponse {
  /**
   * The scorer, which may have been deleted since.
   * @example 12
   */
  @ApiProperty({ type: 'integer' })
  scorer_id: number;

  /**
   * Its name when the evaluation was captured.
   * @example "Keeps to the task"
   */
  scorer_name: string;

  /**
   * The evaluation.
   * @example "019c3f0f-11aa-7c04-b6f5-7c0f2f9f8e21"
   */
  evaluation_id: string;

  /**
   * The judge's run, once there is one.
   * @example "019c3f0f-2d10-7b6b-8a43-0d4f4d1a6b32"
   */
  judge_run_id?: string;

  /**
   * How far it is: `not_reported` when the judge ended without a verdict, `not_dispatched` when none could be given a run.
   * @example "scored"
   */
  @ApiProperty({ enum: SCORE_STATUSES })
  status: ScoreStatus;

  /**
   * Why no judge could be given a run.
   * @example "model_id: names a model that is disabled (ADMIN_DISABLED): claude-sonnet-5"
   */
  problem?: string;

  /**
   * Whether the scorer chose the run; otherwise somebody asked for it.
   * @example true
   */
  sampled: boolean;

  /**
   * The label that the judge chose.
   * @example "kept_to_the_task"
   */
  classification?: string;

  /**
   * What the label was worth when the evaluation was captured.
   * @example 1
   */
  score?: number;

  /**
   * Whether that was enough.
   * @example true
   */
  passed?: boolean;

  /**
   * Why, in the judge's words.
   * @example "It changed the two files that it was asked to change."
   */
  reason?: string;

  /**
   * When the evaluation was captured.
   * @example "2026-11-21T09:30:00.000Z"
   */
  created_at: string;

  /**
   * When the judge last reported it.
   * @example "2026-11-21T09:31:00.000Z"
   */
  reported_at?: string;
}

/** The scores of a run. */
export class RunScoresResponse {
  /** The latest evaluation first; 1,000 at most. */
  scores: RunScoreResponse[];
}

export const toRunScoreResponse = (score: RunScore): RunScoreResponse => ({
  scorer_id: score.scorer_id,
  scorer_name: score.scorer_name,
  evaluation_id: score.evaluation_id,
  judge_run_id: score.judge_run_id ?? undefined,
  status: score.status,
  problem: score.problem ?? undefined,
  sampled: score.sampled,
  classification: score.classification ?? undefined,
  score: score.score ?? undefined,
  passed: score.passed ?? undefined,
  reason: score.reason ?? undefined,
  created_at: score.created_at.toISOString(),
  reported_at: score.reported_at?.toISOString(),
});
