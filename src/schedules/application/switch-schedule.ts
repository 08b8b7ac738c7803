import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Schedule } from '../domain/schedule.js';
import { ScheduleRepository } from '../persistence/schedule.repository.js';
import { CronTriggers } from './cron-triggers.js';
import { SCHEDULE_KIND } from './scheduled-runs.js';

/**
 * Pauses a schedule or resumes it; again does nothing. What would have come while it is paused is neither made up for nor missed: it
 * resumes with the next tick.
 */
@Injectable()
export class SwitchSchedule {
  constructor(
    private readonly schedules: ScheduleRepository,
    private readonly triggers: CronTriggers,
  ) {}

  /** @returns undefined where the caller owns no such schedule */
  async execute(tx: Tx, caller: AccountCaller, id: string, enabled: boolean): Promise<Schedule | undefined> {
    const schedule = await this.schedules.lock(tx, caller, id);
    if (schedule === undefined || schedule.enabled === enabled) return schedule;
    await this.triggers.put(tx, { ...schedule, kind: SCHEDULE_KIND, enabled });
    await this.schedules.touch(tx, id, caller.uid);
    return this.schedules.find(tx, caller, id);
  }
}
