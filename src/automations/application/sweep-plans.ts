import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MINUTE } from '../../kernel/clock.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { EvaluationLog } from '../../webhooks/index.js';

const SWEEP_MS = 10 * MINUTE;
const BATCH = 100;
/** Longer than a delivery may wait for its evaluation: younger plans may still be recorded with. */
const MIN_AGE_DAYS = 1;

/** Forgets what deliveries were held against once the last of those deliveries has left the log. */
@Injectable()
export class SweepPlans {
  constructor(
    private readonly log: EvaluationLog,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
  ) {}

  @Interval(SWEEP_MS)
  tick(): Promise<void> {
    return this.background.round(
      { role: 'sweeper', complaint: 'plans of evaluation could not be swept' },
      () => this.sweep(),
    );
  }

  async sweep(): Promise<void> {
    let deleted: number;
    do {
      deleted = await this.transactor.run((tx) => this.log.deleteUnusedPlans(tx, MIN_AGE_DAYS, BATCH));
    } while (deleted === BATCH);
  }
}
