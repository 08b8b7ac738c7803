import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { Schedule } from '../domain/schedule.js';
import type { Tick } from '../domain/tick.js';
import { ScheduleRepository } from '../persistence/schedule.repository.js';
import { CronTriggers } from './cron-triggers.js';

/** Ticks to come that are told. */
const UPCOMING = 10;

/** Schedules as those who own them read them. */
@Injectable()
export class ReadSchedules {
  constructor(
    private readonly database: Database,
    private readonly schedules: ScheduleRepository,
    private readonly triggers: CronTriggers,
  ) {}

  /** By name, whatever its case; at most 1,000 of the team and 1,000 of the caller's own. */
  list(caller: AccountCaller): Promise<Schedule[]> {
    return this.schedules.list(this.database, caller);
  }

  /** Undefined for a schedule that the caller may not know of. */
  find(caller: AccountCaller, id: string): Promise<Schedule | undefined> {
    return this.schedules.find(this.database, caller, id);
  }

  /** The last 100 ticks, the latest first, and the next ten; none are to come while it is paused. Undefined as in {@link find}. */
  async fires(caller: AccountCaller, id: string): Promise<{ ticks: Tick[]; upcoming: Date[] } | undefined> {
    const schedule = await this.find(caller, id);
    if (schedule === undefined) return undefined;
    return {
      ticks: await this.triggers.ticks(this.database, id),
      upcoming: this.triggers.upcoming(schedule, schedule.nextTickAt, UPCOMING),
    };
  }
}
