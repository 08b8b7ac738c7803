import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../../kernel/clock.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { EvaluationLog } from '../../webhooks/index.js';

const SWEEP_MS = 10 * MINUTE;
const BATCH = 100;
/** Longer than a delivery may wait for its evaluation: younger plans may still be recorded with. */
const MIN_AGE_DAYS = 1;

/** Forgets what deliveries were held against once the last of those deliveries has left the log. */
@Injectable()
export class SweepPlans {
  private readonly logger = new Logger(SweepPlans.name);

  constructor(
    private readonly log: EvaluationLog,
    private readonly transactor: Transactor,
    private readonly config: AppConfig,
  ) {}

  @Interval(SWEEP_MS)
  async tick(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    try {
      await withNewTrace(() => this.sweep());
    } catch (error) {
      this.logger.error({ err: error }, 'plans of evaluation could not be swept; the next sweep tries again');
    }
  }

  async sweep(): Promise<void> {
    let deleted: number;
    do {
      deleted = await this.transactor.run((tx) => this.log.deleteUnusedPlans(tx, MIN_AGE_DAYS, BATCH));
    } while (deleted === BATCH);
  }
}
