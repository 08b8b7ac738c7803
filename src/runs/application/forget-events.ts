import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MINUTE } from '../../kernel/clock.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { RunEventLog } from '../persistence/run-event-log.js';

/** Batches of one minute at most: what a minute brings is less. */
const MAX_BATCHES = 20;

/** Forgets events of more than a week ago, in batches that each have a transaction of their own. */
@Injectable()
export class ForgetEvents {
  constructor(
    private readonly events: RunEventLog,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
  ) {}

  @Interval(MINUTE)
  tick(): Promise<void> {
    return this.background.round({ role: 'sweeper', complaint: 'old events could not be forgotten' }, () =>
      this.execute(),
    );
  }

  async execute(): Promise<void> {
    for (let batch = 1; batch <= MAX_BATCHES; batch++) {
      if (!(await this.transactor.run((tx) => this.events.forgetOld(tx)))) return;
    }
  }
}
