import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import type { Schedule } from '../domain/schedule.js';
import { ScheduleRepository } from '../persistence/schedule.repository.js';
import { CronTriggers } from './cron-triggers.js';
import { FireTriggers } from './fire-triggers.js';
import { SCHEDULE_KIND } from './scheduled-runs.js';

/**
 * Pauses a schedule or resumes it; again does nothing. What has come before is fired. What would have come while it is paused is neither made up for nor missed: it
 * resumes with the next tick.
 */
@Injectable()
export class SwitchSchedule {
  constructor(
    private readonly schedules: ScheduleRepository,
    private readonly triggers: CronTriggers,
    private readonly fireTriggers: FireTriggers,
    private readonly transactor: Transactor,
    private readonly database: Database,
  ) {}

  /** @returns undefined where the caller owns no such schedule */
  async execute(caller: AccountCaller, id: string, enabled: boolean): Promise<Schedule | undefined> {
    if ((await this.schedules.find(this.database, caller, id)) === undefined) return undefined;
    await this.fireTriggers.fireOne(id);
    return this.transactor.run(async (tx) => {
      const schedule = await this.schedules.lock(tx, caller, id);
      if (schedule === undefined || schedule.enabled === enabled) return schedule;
      await this.triggers.put(tx, { ...schedule, kind: SCHEDULE_KIND, enabled });
      await this.schedules.touch(tx, id, caller.uid);
      return this.schedules.find(tx, caller, id);
    });
  }
}
