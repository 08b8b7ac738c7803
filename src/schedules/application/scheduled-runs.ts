import { Injectable, type OnModuleInit } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { ResolveSkill, type SkillResolution } from '../../catalog/index.js';
import { actingPerson, People } from '../../identities/index.js';
import { SECOND } from '../../kernel/clock.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { ConfigureRun, type ConfigureRunOutcome, type RunOrder } from '../../runs/index.js';
import type { Schedule } from '../domain/schedule.js';
import { type DueSkill, ScheduleRepository } from '../persistence/schedule.repository.js';
import { CronTriggers, type DueTick, type PlanTicks, type TickPlan } from './cron-triggers.js';
import { ownerOf, orderOf, SCHEDULE_FIELDS } from './schedule-order.js';

/** The kind of the triggers of schedules. */
export const SCHEDULE_KIND = 'schedule';

/** Distinct skills that are read for one round of firing. */
const MAX_SKILLS = 200;
/** Others do not wait longer for a slow repository; whoever needs it is fired in a later round. */
const SKILL_PATIENCE_MS = SECOND;

type Skills = ReadonlyMap<string, SkillResolution>;

/** Makes the runs of schedules that are due, each configured as it and its agent are at that moment. */
@Injectable()
export class ScheduledRuns implements OnModuleInit {
  readonly name = SCHEDULE_KIND;

  constructor(
    private readonly triggers: CronTriggers,
    private readonly schedules: ScheduleRepository,
    private readonly configureRun: ConfigureRun,
    private readonly resolveSkill: ResolveSkill,
    private readonly people: People,
    private readonly database: Database,
  ) {}

  onModuleInit(): void {
    this.triggers.register(this);
  }

  async prepare(now: Date): Promise<PlanTicks> {
    const skills = await this.readSkills(await this.schedules.dueSkills(this.database, now, MAX_SKILLS));
    return (tx, due) => this.plan(tx, due, skills);
  }

  /** Those that could be found, or not found, in time. Repositories are kept in memory for minutes, so mostly none is read. */
  private async readSkills(wanted: DueSkill[]): Promise<Skills> {
    const found = new Map<string, SkillResolution>();
    if (wanted.length === 0) return found;
    const reading = Promise.all(
      wanted.map(async (skill) => {
        const caller = actingPerson({ uid: skill.createdBy, teamUid: skill.teamUid });
        found.set(keyOf(skill), await this.resolveSkill.execute(caller, skill.skillSpec));
      }),
    );
    const patience = new AbortController();
    const late = delay(SKILL_PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([reading, late]);
    patience.abort();
    // What fails after the patience has ended fails again, and is reported, in the round that waits for it.
    reading.catch(() => undefined);
    return new Map(found);
  }

  private async plan(tx: Tx, due: DueTick[], skills: Skills): Promise<Map<string, TickPlan>> {
    const schedules = await this.schedules.findAll(tx, [...new Set(due.map(({ triggerId }) => triggerId))]);
    const owners = schedules.flatMap(({ ownerUid }) => ownerUid ?? []);
    const people = owners.length === 0 ? new Set<string>() : await this.people.existing(tx, owners);
    const plans = new Map<string, TickPlan>();
    const ready: { schedule: Schedule; order: RunOrder }[] = [];
    for (const schedule of schedules) {
      const skill = skillOf(schedule, skills);
      if (skill === 'not_read_yet') continue;
      if (schedule.ownerUid !== null && !people.has(schedule.ownerUid)) {
        plans.set(schedule.id, OWNER_GONE);
        continue;
      }
      const creator = actingPerson({ uid: schedule.createdBy, teamUid: schedule.teamUid });
      ready.push({
        schedule,
        order: { ...orderOf(creator, ownerOf(schedule), schedule), resolvedSkill: skill },
      });
    }
    const outcomes = await this.configureRun.executeAll(
      tx,
      ready.map(({ order }) => order),
      SCHEDULE_FIELDS,
    );
    for (const [index, outcome] of outcomes.entries()) {
      const schedule = ready[index]?.schedule;
      if (schedule !== undefined) plans.set(schedule.id, planOf(schedule, outcome));
    }
    return plans;
  }
}

const OWNER_GONE: TickPlan = {
  outcome: 'failed',
  reason: 'The person who owns the schedule is no longer there',
};

function planOf(schedule: Schedule, configured: ConfigureRunOutcome): TickPlan {
  switch (configured.outcome) {
    case 'refused':
      return { outcome: 'failed', reason: configured.problem.message };
    case 'configured': {
      const { agent, config, skill } = configured.run;
      return {
        outcome: 'run',
        run: {
          prompt: schedule.prompt,
          title: schedule.prompt === '' ? skill?.name : undefined,
          owner: ownerOf(schedule),
          creatorUid: schedule.createdBy,
          executorUid: agent?.uid ?? schedule.createdBy,
          source: 'SCHEDULED_AGENT',
          config,
          skill,
          metadata: schedule.metadata,
          mode: schedule.mode,
          schedule: { id: schedule.id, name: schedule.name, cron: schedule.cron },
        },
      };
    }
  }
}

function skillOf(
  { teamUid, createdBy, skillSpec }: Schedule,
  skills: Skills,
): SkillResolution | 'not_read_yet' | undefined {
  if (skillSpec === null) return undefined;
  return skills.get(keyOf({ teamUid, createdBy, skillSpec })) ?? 'not_read_yet';
}

const keyOf = ({ teamUid, createdBy, skillSpec }: DueSkill): string =>
  JSON.stringify([teamUid, createdBy, skillSpec]);
