import { Injectable } from '@nestjs/common';
import type { RunCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { type Ruling, ruleOn, type Verdict } from '../domain/verdict.js';
import { EvaluationRepository } from '../persistence/evaluation.repository.js';

export type ReportOutcome =
  | { outcome: 'reported'; rulings: Ruling[] }
  /** The caller's run was not made to grade this run. */
  | { outcome: 'not_its_judge' };

/** Takes the verdicts of a judge: each on its own, later ones in place of earlier ones. */
@Injectable()
export class ReportScores {
  constructor(private readonly evaluations: EvaluationRepository) {}

  async execute(tx: Tx, judge: RunCaller, runId: string, verdicts: Verdict[]): Promise<ReportOutcome> {
    const evaluation = await this.evaluations.lockForReport(tx, judge.runId, runId);
    if (evaluation === undefined) return { outcome: 'not_its_judge' };
    const rulings = ruleOn(verdicts, evaluation.scorers);
    await this.evaluations.record(
      tx,
      evaluation.id,
      rulings.flatMap((ruling) => (ruling.outcome === 'accepted' ? [ruling.score] : [])),
    );
    return { outcome: 'reported', rulings };
  }
}
