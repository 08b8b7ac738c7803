import { Injectable, type OnModuleInit } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { ResolveSkill, type SkillResolution } from '../../catalog/index.js';
import { actingPerson } from '../../identities/index.js';
import { SECOND } from '../../kernel/clock.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CronTriggers, type DueTick, type PlanTicks, type TickPlan } from '../../schedules/index.js';
import type { Automation } from '../domain/automation.js';
import {
  AutomationRepository,
  type AutomationSchedule,
  type LaunchableAutomation,
} from '../persistence/automation.repository.js';
import { ConfigureAutomationRuns, type TemplateOutcome } from './configure-automation-runs.js';

/** Names the kind in the database and in origin keys: it never changes. */
const AUTOMATION_KIND = 'automation';
const TIMEZONE = 'UTC';
/** A tick that the service slept through is not fired later: nobody waits for it any more. */
const CATCH_UP_MINUTES = 0;

/** Triggers that are looked at in one round for skills that they need; and skills that are read for it. */
const MAX_DUE = 1_000;
const MAX_SKILLS = 200;
const SKILL_PATIENCE_MS = SECOND;

/** The cron triggers of automations: kept with the automation, fired by the schedules' clockwork. */
@Injectable()
export class AutomationSchedules implements OnModuleInit {
  readonly name = AUTOMATION_KIND;

  constructor(
    private readonly triggers: CronTriggers,
    private readonly automations: AutomationRepository,
    private readonly configureRuns: ConfigureAutomationRuns,
    private readonly resolveSkill: ResolveSkill,
    private readonly transactor: Transactor,
    private readonly database: Database,
  ) {}

  onModuleInit(): void {
    this.triggers.register(this);
  }

  /** What is wrong with a cron expression; undefined when it is right. */
  complaintAbout(cron: string): string | undefined {
    return this.triggers.check({ cron, timezone: TIMEZONE })?.message;
  }

  /** Makes the cron triggers what the automation says. Those whose expression stays go on as they are. */
  async keep(tx: Tx, automation: Automation): Promise<void> {
    const present = await this.automations.schedules(tx, automation.uid);
    const kept: AutomationSchedule[] = [];
    for (const trigger of automation.triggers) {
      if (trigger.provider !== 'schedule') continue;
      const { cron, name = null } = trigger.schedule;
      const same = present.find((each) => each.cron === cron && !kept.some(({ id }) => id === each.id));
      kept.push({ id: same?.id ?? newUuid(), cron, name });
    }
    for (const { id } of present)
      if (!kept.some((each) => each.id === id)) await this.triggers.remove(tx, id);
    await this.automations.replaceSchedules(tx, automation.uid, kept);
    for (const { id, cron } of kept) {
      await this.triggers.put(tx, {
        id,
        kind: AUTOMATION_KIND,
        cron,
        timezone: TIMEZONE,
        catchUpMinutes: CATCH_UP_MINUTES,
        enabled: automation.enabled,
      });
    }
  }

  /** Before the automation is deleted. */
  async remove(tx: Tx, automationUid: string): Promise<void> {
    for (const { id } of await this.automations.schedules(tx, automationUid)) {
      await this.triggers.remove(tx, id);
    }
  }

  /** Repositories are read before the transaction; whoever needs a slow one is fired in a later round. */
  async prepare(now: Date): Promise<PlanTicks> {
    const due = await this.triggers.due(this.database, AUTOMATION_KIND, now, MAX_DUE);
    const wanted = await this.automations.scheduledWithSkill(this.database, due, MAX_SKILLS);
    const skills = new Map<string, SkillResolution>();
    const reading = Promise.all(
      wanted.map(async ({ uid, teamUid, lastEditorUid, config }) => {
        const caller = actingPerson({ uid: lastEditorUid, teamUid });
        const spec = config?.skill_spec ?? '';
        skills.set(uid, await this.resolveSkill.execute(caller, spec, config?.environment_id));
      }),
    );
    await Promise.race([reading, delay(SKILL_PATIENCE_MS, undefined, { ref: false })]);
    // What fails later fails again, and is reported, in the round that waits for it.
    reading.catch(() => undefined);
    return (tx, ticks) => this.plan(tx, ticks, new Map(skills));
  }

  private async plan(
    tx: Tx,
    due: DueTick[],
    skills: ReadonlyMap<string, SkillResolution>,
  ): Promise<Map<string, TickPlan>> {
    const ids = [...new Set(due.map(({ triggerId }) => triggerId))];
    const found = new Map(
      (await this.automations.scheduled(tx, ids)).map((each) => [each.schedule.id, each]),
    );
    const plans = new Map<string, TickPlan>();
    const ready: (ScheduledAutomation & { skill: SkillResolution | undefined })[] = [];
    for (const id of ids) {
      const each = found.get(id);
      if (each === undefined) {
        // Its factory was deleted as a whole. Not in this transaction: the tick refers to the trigger.
        plans.set(id, { outcome: 'failed', reason: 'The automation was deleted' });
        tx.afterCommit(() => this.transactor.run((later) => this.triggers.remove(later, id)));
        continue;
      }
      const skill = skills.get(each.automation.uid);
      if (each.automation.config?.skill_spec !== undefined && skill === undefined) continue;
      ready.push({ ...each, skill });
    }
    const outcomes = await this.configureRuns.executeAll(tx, ready);
    for (const [index, outcome] of outcomes.entries()) {
      const each = ready[index];
      if (each !== undefined) plans.set(each.schedule.id, planOf(each, outcome));
    }
    return plans;
  }
}

interface ScheduledAutomation {
  automation: LaunchableAutomation;
  schedule: AutomationSchedule;
}

function planOf({ automation, schedule }: ScheduledAutomation, configured: TemplateOutcome): TickPlan {
  switch (configured.outcome) {
    case 'refused':
      return { outcome: 'failed', reason: configured.problem.message };
    case 'configured':
      return {
        outcome: 'run',
        run: {
          ...configured.template,
          prompt: automation.prompt,
          source: 'SCHEDULED_AGENT',
          metadata: { automation_uid: automation.uid },
          schedule: { id: schedule.id, name: schedule.name ?? automation.name, cron: schedule.cron },
        },
      };
  }
}
