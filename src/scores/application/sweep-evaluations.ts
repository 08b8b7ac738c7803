import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SECOND } from '../../kernel/clock.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import type { WaitingEvaluation } from '../domain/evaluation.js';
import { EvaluationRepository } from '../persistence/evaluation.repository.js';
import { CaptureEvaluations } from './capture-evaluations.js';
import { DispatchEvaluation } from './dispatch-evaluation.js';

const SWEEP_MS = SECOND;
/** Ends that are handled in one transaction. */
const CAPTURE_BATCH = 200;
/** How long an evaluation is in the hands of the process that has taken it: enough to copy a long transcript. */
const DISPATCH_SECONDS = 60;

/** Sees to it that runs which have ended are graded. Any number of replicas sweep; none gets what another has in hand. */
@Injectable()
export class SweepEvaluations {
  private readonly logger = new Logger(SweepEvaluations.name);

  constructor(
    private readonly captureEvaluations: CaptureEvaluations,
    private readonly dispatchEvaluation: DispatchEvaluation,
    private readonly evaluations: EvaluationRepository,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
  ) {}

  @Interval(SWEEP_MS)
  async tick(): Promise<void> {
    // Each by itself: what is recorded already is dispatched also while nothing more can be.
    await this.background.round(
      { role: 'sweeper', complaint: 'ended runs could not be taken up for grading' },
      () => this.capture(),
    );
    await this.background.round({ role: 'sweeper', complaint: 'evaluations could not be dispatched' }, () =>
      this.dispatch(),
    );
  }

  /** Records what is to be graded. */
  async capture(): Promise<void> {
    let handled: number;
    do {
      handled = await this.transactor.run((tx) => this.captureEvaluations.execute(tx, CAPTURE_BATCH));
    } while (handled === CAPTURE_BATCH);
  }

  /** Gives the judges of what was recorded their runs, one after the other: one can have long prompts and files. */
  async dispatch(): Promise<void> {
    for (;;) {
      const evaluation = await this.transactor.run((tx) =>
        this.evaluations.takeWaiting(tx, DISPATCH_SECONDS),
      );
      if (evaluation === undefined) return;
      await this.dispatchOne(evaluation);
    }
  }

  private async dispatchOne(evaluation: WaitingEvaluation): Promise<void> {
    const fields = { run_id: evaluation.runId, evaluation_id: evaluation.id };
    try {
      await this.dispatchEvaluation.execute(evaluation);
      this.logger.log(fields, 'dispatched an evaluation');
    } catch (error) {
      // One that cannot be helped must not keep the others waiting; without the database none can.
      if (isDatabaseUnavailable(error)) throw error;
      this.logger.error(
        { ...fields, err: error },
        'an evaluation could not be dispatched; it is tried again',
      );
    }
  }
}
