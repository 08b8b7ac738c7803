import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../../kernel/clock.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { RunEventLog } from '../persistence/run-event-log.js';

/** Batches of one minute at most: what a minute brings is less. */
const MAX_BATCHES = 20;

/** Forgets events of more than a week ago, in batches that each have a transaction of their own. */
@Injectable()
export class ForgetEvents {
  private readonly logger = new Logger(ForgetEvents.name);

  constructor(
    private readonly events: RunEventLog,
    private readonly transactor: Transactor,
    private readonly config: AppConfig,
  ) {}

  @Interval(MINUTE)
  async tick(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    try {
      await withNewTrace(() => this.execute());
    } catch (error) {
      this.logger.error({ err: error }, 'old events could not be forgotten; the next minute tries again');
    }
  }

  async execute(): Promise<void> {
    for (let batch = 1; batch <= MAX_BATCHES; batch++) {
      if (!(await this.transactor.run((tx) => this.events.forgetOld(tx)))) return;
    }
  }
}
