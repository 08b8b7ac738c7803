/** How far the grading of a run by one scorer is. */
export const SCORE_STATUSES = ['pending', 'scored', 'failed', 'not_reported', 'not_dispatched'] as const;
export type ScoreStatus =
  /** Its judge waits or works. */
  | 'pending'
  | 'scored'
  /** The judge could not grade. */
  | 'failed'
  /** The judge ended without a verdict by this scorer. */
  | 'not_reported'
  /** No judge could be given a run. */
  | 'not_dispatched';

/** A score of a run as it is read. */
export interface RunScore {
  scorer_id: number;
  scorer_name: string;
  evaluation_id: string;
  judge_run_id: string | null;
  status: ScoreStatus;
  /** Why no judge could be given a run. */
  problem: string | null;
  sampled: boolean;
  classification: string | null;
  score: number | null;
  passed: boolean | null;
  reason: string | null;
  created_at: Date;
  reported_at: Date | null;
}

/** A verdict by a scorer as it is read. */
export interface ScorerResult {
  run_id: string;
  evaluation_id: string;
  judge_run_id: string;
  agent_uid: string;
  model_id: string | null;
  skill_spec: string | null;
  sampled: boolean;
  failed: boolean;
  classification: string | null;
  score: number | null;
  passed: boolean | null;
  reason: string | null;
  created_at: Date;
  reported_at: Date;
}

/** Which results; what is undefined does not matter. */
export interface ResultFilter {
  agentUid?: string;
  modelId?: string;
  skillSpec?: string;
  /** From this moment on … */
  since?: Date;
  /** … and before this one. */
  until?: Date;
}
