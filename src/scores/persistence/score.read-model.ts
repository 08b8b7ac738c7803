import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { ResultFilter, RunScore, ScorerResult } from '../domain/score-view.js';

/** A score without what follows from the state of its judge. */
export type ScoreRow = Omit<RunScore, 'status'> & { failed: boolean };

const MAX_SCORES = 1000;

/** Scores as they are read. */
@Injectable()
export class ScoreReadModel {
  constructor(private readonly database: Database) {}

  /** The latest evaluations first, 1,000 scores at most. */
  ofRun(runId: string): Promise<ScoreRow[]> {
    return this.database.query<ScoreRow>(
      `SELECT s.scorer_id, s.scorer_name, s.evaluation_id, e.judge_run_id, e.problem, s.sampled, s.failed, s.classification,
              s.score, s.passed, s.reason, s.created_at, s.reported_at
         FROM evaluation_scores s JOIN evaluations e ON e.id = s.evaluation_id
        WHERE s.run_id = $1
        ORDER BY s.created_at DESC, s.evaluation_id DESC, s.scorer_id DESC LIMIT ${String(MAX_SCORES)}`,
      [runId],
    );
  }

  /**
   * The verdicts by a scorer, the latest evaluation first. Each filter has an index in this order; of several one is walked.
   *
   * @param after the last one of the page before
   */
  results(
    scorerId: number,
    filter: ResultFilter,
    after: { createdAt: Date; evaluationId: string } | undefined,
    limit: number,
  ): Promise<ScorerResult[]> {
    const parameters: unknown[] = [scorerId];
    const bind = (value: unknown): string => `$${String(parameters.push(value))}`;
    const conditions = [
      's.scorer_id = $1',
      's.reported_at IS NOT NULL',
      ...(filter.agentUid === undefined ? [] : [`s.agent_uid = ${bind(filter.agentUid)}`]),
      ...(filter.modelId === undefined ? [] : [`s.model_id = ${bind(filter.modelId)}`]),
      ...(filter.skillSpec === undefined ? [] : [`s.skill_spec = ${bind(filter.skillSpec)}`]),
      ...(filter.since === undefined ? [] : [`s.created_at >= ${bind(filter.since)}`]),
      ...(filter.until === undefined ? [] : [`s.created_at < ${bind(filter.until)}`]),
      ...(after === undefined
        ? []
        : [
            `(s.created_at, s.evaluation_id) < (${bind(after.createdAt)}, ${bind(after.evaluationId)}::uuid)`,
          ]),
    ];
    return this.database.query<ScorerResult>(
      `SELECT s.run_id, s.evaluation_id, e.judge_run_id, s.agent_uid, s.model_id, s.skill_spec, s.sampled, s.failed,
              s.classification, s.score, s.passed, s.reason, s.created_at, s.reported_at
         FROM evaluation_scores s JOIN evaluations e ON e.id = s.evaluation_id
        WHERE ${conditions.join(' AND ')}
        ORDER BY s.created_at DESC, s.evaluation_id DESC LIMIT ${bind(limit)}`,
      parameters,
    );
  }
}
