import { Injectable } from '@nestjs/common';
import { type AccountCaller, actingPerson } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import type { Schedule, ScheduleSettings } from '../domain/schedule.js';
import { ScheduleRepository } from '../persistence/schedule.repository.js';
import { CronTriggers, type InvalidRule } from './cron-triggers.js';
import { FireTriggers } from './fire-triggers.js';
import { JudgeSchedule } from './judge-schedule.js';
import { ownerOf } from './schedule-order.js';
import { SCHEDULE_KIND } from './scheduled-runs.js';

export type ReplaceScheduleOutcome =
  { outcome: 'replaced'; schedule: Schedule } | InvalidRule | { outcome: 'not_found' };

/**
 * Sets a schedule anew. One that goes on by the same expression keeps the tick that it waits for; another expression counts from now. What has
 * come before is fired as the schedule was.
 * Its runs go on being created by whoever made it, so that person, too, must have the right to what it names.
 */
@Injectable()
export class ReplaceSchedule {
  constructor(
    private readonly judge: JudgeSchedule,
    private readonly schedules: ScheduleRepository,
    private readonly triggers: CronTriggers,
    private readonly fireTriggers: FireTriggers,
    private readonly transactor: Transactor,
    private readonly database: Database,
  ) {}

  /** @throws Problem what {@link JudgeSchedule} refuses */
  async execute(
    caller: AccountCaller,
    id: string,
    settings: ScheduleSettings,
  ): Promise<ReplaceScheduleOutcome> {
    const stored = await this.schedules.find(this.database, caller, id);
    if (stored === undefined) return { outcome: 'not_found' };
    const unusable = this.triggers.check(settings);
    if (unusable !== undefined) return unusable;
    const creator = actingPerson({ uid: stored.createdBy, teamUid: stored.teamUid });
    const { skillSpec } = await this.judge.execute(
      stored.createdBy === caller.uid ? [caller] : [caller, creator],
      ownerOf(stored),
      { ...settings, agentConfig: settings.agentConfig ?? stored.agentConfig },
    );
    await this.fireTriggers.fireOne(id);
    return this.transactor.run(async (tx): Promise<ReplaceScheduleOutcome> => {
      const locked = await this.schedules.lock(tx, caller, id);
      if (locked === undefined) return { outcome: 'not_found' };
      await this.schedules.replace(tx, id, settings, skillSpec, caller.uid);
      await this.triggers.put(tx, { id, kind: SCHEDULE_KIND, ...settings });
      const schedule = await this.schedules.find(tx, caller, id);
      if (schedule === undefined) throw new Error('whoever changes a schedule can read it');
      return { outcome: 'replaced', schedule };
    });
  }
}
