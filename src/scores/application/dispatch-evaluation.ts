import { Injectable } from '@nestjs/common';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateRun } from '../../runs/index.js';
import type { WaitingEvaluation } from '../domain/evaluation.js';
import { EvaluationRepository } from '../persistence/evaluation.repository.js';
import { PrepareJudgeRun } from './prepare-judge-run.js';

/** Gives an evaluation's judge its run. However often and by however many replicas it is tried, there is one: its origin key is unique. */
@Injectable()
export class DispatchEvaluation {
  constructor(
    private readonly prepare: PrepareJudgeRun,
    private readonly createRun: CreateRun,
    private readonly evaluations: EvaluationRepository,
    private readonly transactor: Transactor,
  ) {}

  async execute(evaluation: WaitingEvaluation): Promise<void> {
    // Copies files, so it is done before the transaction.
    const preparation = await this.prepare.execute(evaluation);
    await this.transactor.run(async (tx) => {
      if (preparation.outcome === 'impossible') {
        await this.evaluations.setProblem(tx, evaluation.id, preparation.problem);
        return;
      }
      const created = await this.createRun.execute(tx, preparation.run);
      if (created.outcome === 'conversation_busy') throw new Error('a judge continues no conversation');
      await this.evaluations.setJudgeRun(tx, evaluation.id, created.runId);
    });
  }
}
