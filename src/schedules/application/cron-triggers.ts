import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { SharedClock } from '../../kernel/persistence/shared-clock.js';
import type { NewRun } from '../../runs/index.js';
import { nextTicks, ticksBetween } from '../domain/due-ticks.js';
import { parseRecurrence, type Recurrence, type RecurrenceRule } from '../domain/recurrence.js';
import type { Tick } from '../domain/tick.js';
import type { TriggerSettings } from '../domain/trigger.js';
import { CronTriggerRepository } from '../persistence/cron-trigger.repository.js';

/** A tick that is to be fired now. */
export interface DueTick {
  triggerId: string;
  tickAt: Date;
}

/** What is to be done about a tick. */
export type TickPlan =
  | { outcome: 'run'; run: Omit<NewRun, 'id' | 'originKey'> }
  /** No run can be created; the reason is shown to people. The trigger goes on. */
  | { outcome: 'failed'; reason: string };

/**
 * Makes the runs of one kind of triggers.
 *
 * @returns a plan for each tick, by the id of its trigger; a trigger without one is asked for again in a moment
 */
export type PlanTicks = (tx: Tx, due: DueTick[]) => Promise<Map<string, TickPlan>>;

export interface TriggerKind {
  /** Names it in the database and in origin keys of runs; it never changes. */
  name: string;
  /**
   * Reads what may take long, such as a repository, before a transaction is opened.
   *
   * @param now ticks up to this moment are about to be fired
   */
  prepare(now: Date): Promise<PlanTicks>;
}

/** A rule by which nothing can be fired. The message goes on after the name of the field. */
export interface InvalidRule {
  outcome: 'invalid';
  field: 'cron' | 'timezone';
  message: string;
}

/** The settings of a trigger. What `@every` counts from follows from when its rule was set. */
export type TriggerRequest = Omit<TriggerSettings, 'anchor'>;

/**
 * Cron triggers, for whoever wants runs at certain times: kept in the transaction of what they belong to, and fired with one run a
 * tick over any number of replicas. A kind of triggers is registered in `onModuleInit`.
 */
@Injectable()
export class CronTriggers {
  private readonly kinds = new Map<string, TriggerKind>();

  constructor(
    private readonly triggers: CronTriggerRepository,
    private readonly clock: SharedClock,
  ) {}

  register(kind: TriggerKind): void {
    this.kinds.set(kind.name, kind);
  }

  /** All that have been registered. */
  get registered(): ReadonlyMap<string, TriggerKind> {
    return this.kinds;
  }

  /** What is wrong with a rule; undefined when it is right and comes due some day. */
  check(rule: { cron: string; timezone: string }): InvalidRule | undefined {
    const epoch = new Date(0);
    const parsed = parseRecurrence({ ...rule, anchor: epoch });
    if (parsed.outcome === 'invalid') return parsed;
    return parsed.recurrence.next(epoch) === undefined ? NEVER : undefined;
  }

  /** Triggers of a kind that are due, the longest due first. */
  due(database: Queryable, kind: string, now: Date, limit: number): Promise<string[]> {
    return this.triggers.due(database, kind, now, limit);
  }

  /**
   * Makes or changes the trigger. It waits for the next tick from now on; one that was enabled and keeps its rule goes on waiting for
   * the tick that it waits for. Ticks of another rule that have come and were not fired by now are recorded as missed.
   *
   * @throws Error for a rule that {@link check} refuses
   */
  async put(tx: Tx, request: TriggerRequest): Promise<void> {
    // Nobody fires it while it is changed.
    const current = await this.triggers.lock(tx, request.id);
    const now = await this.clock.now(tx);
    const isSameRule = current?.cron === request.cron && current.timezone === request.timezone;
    if (isSameRule && current.enabled && request.enabled) {
      const { anchor, nextTickAt, reckonedAt } = current;
      await this.triggers.put(tx, { ...request, anchor, nextTickAt, reckonedAt });
      return;
    }
    if (current?.enabled === true && current.nextTickAt !== null && current.nextTickAt <= now) {
      // A time zone can vanish with another version of Node.js; the rule is what is about to be put right then.
      const parsed = parseRecurrence(current);
      const tooLate =
        parsed.outcome === 'parsed'
          ? ticksBetween(parsed.recurrence, current.nextTickAt, now)
          : [current.nextTickAt];
      await this.triggers.record(
        tx,
        tooLate.map((tickAt) => ({ triggerId: request.id, tickAt, outcome: 'missed', reason: CHANGED })),
        now,
      );
    }
    // `@every` goes on counting from where it began.
    const trigger = { ...request, anchor: isSameRule ? current.anchor : now };
    const nextTickAt = trigger.enabled ? (recurrenceOf(trigger).next(now) ?? null) : null;
    await this.triggers.put(tx, { ...trigger, nextTickAt, reckonedAt: now });
  }

  /** Removes the trigger with its ticks; nothing happens where there is none. Its runs stay. */
  async remove(tx: Tx, id: string): Promise<void> {
    await this.triggers.delete(tx, id);
  }

  /** The latest ticks that have come, the latest first: 100 of them are kept. */
  ticks(database: Queryable, id: string): Promise<Tick[]> {
    return this.triggers.ticks(database, id);
  }

  /** @param nextTickAt what it waits for; null while it is paused */
  upcoming(rule: RecurrenceRule, nextTickAt: Date | null, count: number): Date[] {
    if (nextTickAt === null) return [];
    return [nextTickAt, ...nextTicks(recurrenceOf(rule), nextTickAt, count - 1)];
  }
}

const CHANGED = 'It was paused or changed before the scheduler came to this tick';

const NEVER: InvalidRule = {
  outcome: 'invalid',
  field: 'cron',
  message: 'never comes: no month that it allows has that day',
};

function recurrenceOf(rule: RecurrenceRule): Recurrence {
  const parsed = parseRecurrence(rule);
  if (parsed.outcome === 'invalid') throw new Error(`an unchecked rule: ${parsed.field} ${parsed.message}`);
  return parsed.recurrence;
}
