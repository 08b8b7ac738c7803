import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { ScheduleRepository } from '../persistence/schedule.repository.js';
import { CronTriggers } from './cron-triggers.js';

/** Deletes a schedule with its ticks: no run is started by it any more. The runs that it has started stay, and still name it. */
@Injectable()
export class DeleteSchedule {
  constructor(
    private readonly schedules: ScheduleRepository,
    private readonly triggers: CronTriggers,
  ) {}

  /** @returns false where the caller owns no such schedule */
  async execute(tx: Tx, caller: AccountCaller, id: string): Promise<boolean> {
    const deleted = await this.schedules.delete(tx, caller, id);
    if (deleted) await this.triggers.remove(tx, id);
    return deleted;
  }
}
