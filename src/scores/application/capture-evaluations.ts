import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { EndedRuns } from '../../runs/index.js';
import { gradedRun, groupByJudge, type NewEvaluation, sampledScorers } from '../domain/evaluation.js';
import { EvaluationRepository } from '../persistence/evaluation.repository.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';
import { Judges } from './judges.js';

/**
 * Takes runs that have ended, lets the scorers of their agents sample them, and captures what is to be graded by what. The ends are
 * handled and the evaluations recorded in one transaction: whatever becomes of the process, each end has its consequences once.
 */
@Injectable()
export class CaptureEvaluations {
  constructor(
    private readonly endedRuns: EndedRuns,
    private readonly scorers: ScorerRepository,
    private readonly evaluations: EvaluationRepository,
    private readonly judges: Judges,
  ) {}

  /** @returns how many ends were handled: fewer than `limit` when there are no more */
  async execute(tx: Tx, limit: number): Promise<number> {
    const { taken, runs } = await this.endedRuns.take(tx, limit);
    const graded = runs.flatMap((run) => gradedRun(run) ?? []);
    if (graded.length === 0) return taken;
    const scorers = await this.scorers.ofAgents(
      tx,
      [...new Set(graded.map(({ teamUid }) => teamUid))],
      [...new Set(graded.map(({ agentUid }) => agentUid))],
    );
    const evaluations = graded.flatMap((run): NewEvaluation[] =>
      groupByJudge(sampledScorers(run, scorers), (scorer) => this.judges.of(scorer)).map((group) => ({
        id: newUuid(),
        run,
        ...group,
      })),
    );
    if (evaluations.length > 0) await this.evaluations.insert(tx, evaluations);
    return taken;
  }
}
