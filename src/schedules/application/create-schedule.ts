import { Injectable } from '@nestjs/common';
import type { AccountCaller, Ownership } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import type { Schedule, ScheduleSettings } from '../domain/schedule.js';
import { MAX_SCHEDULES, ScheduleRepository } from '../persistence/schedule.repository.js';
import { CronTriggers, type InvalidRule } from './cron-triggers.js';
import { JudgeSchedule } from './judge-schedule.js';
import { SCHEDULE_KIND } from './scheduled-runs.js';

export type CreateScheduleOutcome =
  | { outcome: 'created'; schedule: Schedule }
  | InvalidRule
  /** The owner has as many as a team or a person may have. */
  | { outcome: 'limit_reached'; limit: number };

/** Makes a scheduled agent; its first tick is the next one from now. */
@Injectable()
export class CreateSchedule {
  constructor(
    private readonly judge: JudgeSchedule,
    private readonly schedules: ScheduleRepository,
    private readonly triggers: CronTriggers,
    private readonly transactor: Transactor,
  ) {}

  /**
   * @param owner the caller, or the team that they act for
   * @throws Problem what {@link JudgeSchedule} refuses
   */
  async execute(
    caller: AccountCaller,
    owner: Ownership,
    settings: ScheduleSettings,
  ): Promise<CreateScheduleOutcome> {
    const unusable = this.triggers.check(settings);
    if (unusable !== undefined) return unusable;
    const { skillSpec } = await this.judge.execute([caller], owner, settings);
    const id = newUuid();
    return this.transactor.run(async (tx): Promise<CreateScheduleOutcome> => {
      const inserted = await this.schedules.insert(tx, {
        id,
        owner,
        settings,
        skillSpec,
        createdBy: caller.uid,
      });
      if (!inserted) return { outcome: 'limit_reached', limit: MAX_SCHEDULES };
      await this.triggers.put(tx, { id, kind: SCHEDULE_KIND, ...settings });
      const schedule = await this.schedules.find(tx, caller, id);
      if (schedule === undefined) throw new Error('whoever creates a schedule can read it');
      return { outcome: 'created', schedule };
    });
  }
}
