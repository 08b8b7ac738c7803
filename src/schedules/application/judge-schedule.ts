import { Injectable } from '@nestjs/common';
import type { AccountCaller, Ownership } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { ConfigureRun } from '../../runs/index.js';
import type { ScheduleSettings } from '../domain/schedule.js';
import { orderOf, SCHEDULE_FIELDS } from './schedule-order.js';

/** Judges whether a schedule could make a run now, before it is saved: what is refused then is refused here, with the field's name. */
@Injectable()
export class JudgeSchedule {
  constructor(private readonly configureRun: ConfigureRun) {}

  /**
   * Reads the database and, for a skill, a repository, so it runs before the transaction that saves.
   *
   * @param callers who must have the right to what it names: whoever saves it, and whoever its runs are created by
   * @returns the skill as `owner/repo:path/SKILL.md`
   * @throws Problem 400 naming the field, 403 for an agent that is not available
   */
  async execute(
    callers: AccountCaller[],
    owner: Ownership,
    settings: Pick<ScheduleSettings, 'prompt' | 'agentUid' | 'agentConfig'>,
  ): Promise<{ skillSpec: string | undefined }> {
    let skillSpec: string | undefined;
    for (const caller of callers) {
      const { config } = await this.configureRun.execute(orderOf(caller, owner, settings), SCHEDULE_FIELDS);
      skillSpec = config.skill_spec;
    }
    if (settings.prompt === '' && skillSpec === undefined) {
      throw Problem.invalid([
        { field: 'prompt', message: 'is required unless agent_config.skill_spec names a skill' },
      ]);
    }
    return { skillSpec };
  }
}
