import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SECOND } from '../../kernel/clock.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { SharedClock } from '../../kernel/persistence/shared-clock.js';
import { isDatabaseUnavailable } from '../../kernel/persistence/sqlstate.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateRun } from '../../runs/index.js';
import { dueTicks } from '../domain/due-ticks.js';
import { parseRecurrence } from '../domain/recurrence.js';
import type { DueTrigger } from '../domain/trigger.js';
import {
  type Advance,
  CronTriggerRepository,
  type NewTick,
  tickKey,
} from '../persistence/cron-trigger.repository.js';
import { CronTriggers, type PlanTicks, type TickPlan } from './cron-triggers.js';

const POLL_MS = SECOND;
/** Triggers of one transaction: more would make it long, and all of it is undone by a crash. */
const BATCH = 500;

/** A trigger of a batch, and what its ticks come to. */
interface Firing {
  trigger: DueTrigger;
  /** The ticks to fire, each with the id of the run that it may make. */
  fire: { tickAt: Date; runId: string }[];
  missed: Date[];
  next: Date | undefined;
  plan: TickPlan;
}

/**
 * Fires what is due: one run a tick, over any number of replicas, crashes and jumps of the clock.
 *
 * A batch of due triggers is claimed (FOR UPDATE SKIP LOCKED on the index of what they wait for), and in one transaction their ticks are
 * recorded, the runs created and the next ticks set. So a process that dies leaves nothing half done: its batch is due again for the
 * others. That the clock is put back, or that two see the same tick, does no harm: the row of the tick is written once, and below it the
 * origin key of the run is unique.
 */
@Injectable()
export class FireTriggers {
  private readonly logger = new Logger(FireTriggers.name);

  constructor(
    private readonly kinds: CronTriggers,
    private readonly triggers: CronTriggerRepository,
    private readonly createRun: CreateRun,
    private readonly transactor: Transactor,
    private readonly database: Database,
    private readonly clock: SharedClock,
    private readonly background: BackgroundWork,
  ) {}

  @Interval(POLL_MS)
  poll(): Promise<void> {
    return this.background.round({ role: 'scheduler', complaint: 'what is due could not be fired' }, () =>
      this.fireDue(),
    );
  }

  /** Fires all that is due by now. @returns how many triggers it has dealt with */
  async fireDue(): Promise<number> {
    const now = await this.clock.now(this.database);
    const work = await this.triggers.survey(this.database, now);
    if (work.clockWasPutBack) await this.reckonAgain();
    const plans = new Map<string, PlanTicks>();
    for (const name of work.dueKinds) {
      const kind = this.kinds.registered.get(name);
      if (kind !== undefined) plans.set(name, await kind.prepare(now));
    }
    if (plans.size === 0) return 0;
    const round: Round = { plans, skipped: new Set() };
    let fired = 0;
    for (;;) {
      const { claimed, dealtWith } = await this.fireBatch(round);
      fired += dealtWith;
      if (claimed === 0 || this.background.isStopping) return fired;
    }
  }

  /**
   * Fires what has come of one trigger, in whatever process: before it is paused or changed, so that a tick which came while it was
   * active is not lost.
   */
  async fireOne(id: string): Promise<void> {
    const now = await this.clock.now(this.database);
    const kind = this.kinds.registered.get((await this.triggers.dueKind(this.database, id, now)) ?? '');
    if (kind !== undefined) await this.fireAlone(id, new Map([[kind.name, await kind.prepare(now)]]));
  }

  private async fireBatch(round: Round): Promise<{ claimed: number; dealtWith: number }> {
    let claimed: DueTrigger[] = [];
    try {
      return await this.transactor.run(async (tx) => {
        const now = await this.clock.now(tx);
        claimed = await this.triggers.claimDue(tx, now, [...round.plans.keys()], [...round.skipped], BATCH);
        const firings = await this.fire(tx, claimed, round.plans, now);
        const dealtWith = new Set(firings.map(({ trigger }) => trigger.id));
        for (const { id } of claimed) if (!dealtWith.has(id)) round.skipped.add(id);
        return { claimed: claimed.length, dealtWith: dealtWith.size };
      });
    } catch (error) {
      if (isDatabaseUnavailable(error) || claimed.length === 0) throw error;
      this.logger.error({ err: error }, 'a batch could not be fired; its triggers are fired one by one');
      for (const { id } of claimed) {
        await this.fireAlone(id, round.plans);
        round.skipped.add(id);
      }
      return { claimed: claimed.length, dealtWith: claimed.length };
    }
  }

  /** One that cannot be fired must not keep the others waiting, nor itself for ever: its tick is recorded as failed. */
  private async fireAlone(id: string, plans: Plans): Promise<void> {
    const fireWith = (given: Plans) =>
      this.transactor.run(async (tx) => {
        const now = await this.clock.now(tx);
        return this.fire(tx, await this.triggers.claimOne(tx, now, id), given, now);
      });
    try {
      await fireWith(plans);
      return;
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      this.logger.error({ err: error, trigger_id: id }, 'a trigger could not be fired');
    }
    try {
      await fireWith(new Map([...plans.keys()].map((kind) => [kind, failAll])));
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      this.logger.error(
        { err: error, trigger_id: id },
        'nor can that be recorded; the next round tries again',
      );
    }
  }

  /** @returns what it has dealt with; a trigger without a plan is left as it is */
  private async fire(tx: Tx, triggers: DueTrigger[], plans: Plans, now: Date): Promise<Firing[]> {
    const firings = await this.planAll(tx, triggers, plans, now);
    if (firings.length === 0) return firings;
    const recorded = await this.triggers.record(tx, firings.flatMap(ticksOf), now);
    const created = await this.createRuns(tx, firings, recorded);
    await this.triggers.advance(
      tx,
      firings.map((firing) => ({
        id: firing.trigger.id,
        nextTickAt: firing.next,
        lastTry: lastTryOf(firing, recorded, created),
      })),
      now,
    );
    return firings;
  }

  /** The runs of the ticks that were recorded now. @returns the ids of those that were created */
  private async createRuns(tx: Tx, firings: Firing[], recorded: Set<string>): Promise<Set<string>> {
    const ticks = firings.flatMap(({ trigger, fire, plan }) =>
      plan.outcome === 'failed'
        ? []
        : fire
            .map(({ tickAt, runId }) => ({ trigger, triggerId: trigger.id, tickAt, runId, run: plan.run }))
            .filter((tick) => recorded.has(tickKey(tick))),
    );
    if (ticks.length === 0) return new Set();
    const outcomes = await this.createRun.executeAll(
      tx,
      ticks.map(({ trigger, tickAt, runId, run }) => ({
        ...run,
        id: runId,
        originKey: originKeyOf(trigger, tickAt),
      })),
    );
    // Their rows were no longer kept, but their runs are there: the clock has been put back a long way.
    const earlier = ticks.flatMap((tick, index) => {
      const run = outcomes[index];
      return run?.outcome === 'existing' ? [{ ...tick, runId: run.runId }] : [];
    });
    if (earlier.length > 0) await this.triggers.relink(tx, earlier);
    return new Set(outcomes.flatMap((run) => (run.outcome === 'created' ? [run.runId] : [])));
  }

  private async planAll(tx: Tx, triggers: DueTrigger[], plans: Plans, now: Date): Promise<Firing[]> {
    const reckoned = triggers.map((trigger) => reckon(trigger, now));
    const planned = new Map<string, TickPlan>();
    for (const [kind, plan] of plans) {
      const due = reckoned.flatMap(({ trigger, fire }) =>
        trigger.kind === kind ? fire.map(({ tickAt }) => ({ triggerId: trigger.id, tickAt })) : [],
      );
      if (due.length === 0) continue;
      for (const [id, made] of await plan(tx, due)) planned.set(id, made);
    }
    return reckoned.flatMap((firing) => {
      const plan = firing.plan ?? planned.get(firing.trigger.id);
      if (plan !== undefined) return [{ ...firing, plan }];
      return firing.fire.length === 0 ? [{ ...firing, plan: NOTHING_TO_FIRE }] : [];
    });
  }

  /** Some wait for ticks that are further away than they have to be, since the clock was ahead. */
  private async reckonAgain(): Promise<void> {
    this.logger.warn({}, 'the clock of the database was put back: next ticks are reckoned again');
    for (;;) {
      const count = await this.transactor.run(async (tx) => {
        const now = await this.clock.now(tx);
        const claimed = await this.triggers.claimAhead(tx, now, BATCH);
        await this.triggers.forgetFuture(
          tx,
          claimed.map(({ id }) => id),
          now,
        );
        const advances = claimed.map((trigger) => {
          const anchor = trigger.anchor < now ? trigger.anchor : now;
          const parsed = parseRecurrence({ ...trigger, anchor });
          const next = parsed.outcome === 'parsed' ? parsed.recurrence.next(now) : undefined;
          return { id: trigger.id, nextTickAt: next, lastTry: undefined };
        });
        if (advances.length > 0) await this.triggers.advance(tx, advances, now);
        return advances.length;
      });
      if (count < BATCH) return;
    }
  }
}

type Plans = ReadonlyMap<string, PlanTicks>;

interface Round {
  plans: Plans;
  /** Triggers that have had their turn and are still due. */
  skipped: Set<string>;
}

const INTERNAL_ERROR: TickPlan = { outcome: 'failed', reason: 'The service failed; its log says why' };
const NOTHING_TO_FIRE: TickPlan = { outcome: 'failed', reason: '' };

const failAll: PlanTicks = (_, due) =>
  Promise.resolve(new Map(due.map(({ triggerId }) => [triggerId, INTERNAL_ERROR])));

/** The tick of a trigger, for the run that it makes: of all runs with one key the first alone is created. */
const originKeyOf = ({ kind, id }: DueTrigger, tickAt: Date): string =>
  `${kind}:${id}:${tickAt.toISOString()}`;

function reckon(trigger: DueTrigger, now: Date): Omit<Firing, 'plan'> & { plan: TickPlan | undefined } {
  const parsed = parseRecurrence(trigger);
  if (parsed.outcome === 'invalid') {
    // It was checked when it was set: a time zone can vanish with another version of Node.js.
    const plan = { outcome: 'failed' as const, reason: `${parsed.field} ${parsed.message}` };
    return {
      trigger,
      fire: [{ tickAt: trigger.nextTickAt, runId: newUuid() }],
      missed: [],
      next: undefined,
      plan,
    };
  }
  const { fire, missed, next } = dueTicks(parsed.recurrence, trigger.nextTickAt, now, trigger.catchUpMinutes);
  const withRuns = fire.map((tickAt) => ({ tickAt, runId: newUuid() }));
  return { trigger, fire: withRuns, missed, next, plan: undefined };
}

const ticksOf = ({ trigger, fire, missed, plan }: Firing): NewTick[] => [
  ...missed.map((tickAt) => ({ triggerId: trigger.id, tickAt, outcome: 'missed' as const, reason: MISSED })),
  ...fire.map(({ tickAt, runId }) =>
    plan.outcome === 'run'
      ? { triggerId: trigger.id, tickAt, outcome: 'fired' as const, runId }
      : { triggerId: trigger.id, tickAt, outcome: 'failed' as const, reason: plan.reason },
  ),
];

const MISSED = 'The scheduler did not run at that time';

/** What the last of its ticks came to, of those that it was this firing's to decide. */
function lastTryOf(firing: Firing, recorded: Set<string>, created: Set<string>): Advance['lastTry'] {
  const { trigger, fire, plan } = firing;
  const decided = fire.filter(({ tickAt }) => recorded.has(tickKey({ triggerId: trigger.id, tickAt })));
  if (decided.length === 0) return undefined;
  if (plan.outcome === 'failed') return { error: plan.reason };
  return decided.some(({ runId }) => created.has(runId)) ? 'ran' : undefined;
}
