import { MINUTE } from '../../kernel/clock.js';
import type { Recurrence } from './recurrence.js';

/** A tick that is at most this late is fired as if it were on time: so long may a busy or restarting service take. */
export const PUNCTUAL_MS = MINUTE;

/** So many ticks of a trigger are kept; of more that were missed at once the earlier ones are not even recorded. */
export const KEPT_TICKS = 100;

/** What is to be done about the ticks of a trigger that have come. */
export interface DueTicks {
  /** The earliest first; none when the clock was put back. */
  fire: Date[];
  missed: Date[];
  /** The first one to come; undefined = never again. */
  next: Date | undefined;
}

/**
 * Of the ticks that have come since the trigger was last looked at, those are fired that are on time, and the latest one also when it
 * is late but within the window. All others were missed.
 *
 * @param since the tick that it waited for
 * @param catchUpMinutes how late the latest tick may be; 0 = only on time
 */
export function dueTicks(recurrence: Recurrence, since: Date, now: Date, catchUpMinutes: number): DueTicks {
  const ticks = ticksBetween(recurrence, since, now);
  const latest = ticks.at(-1);
  const isFired = (tick: Date): boolean => {
    const late = now.getTime() - tick.getTime();
    return late <= PUNCTUAL_MS || (tick === latest && late <= catchUpMinutes * MINUTE);
  };
  return {
    fire: ticks.filter(isFired),
    missed: ticks.filter((tick) => !isFired(tick)),
    next: recurrence.next(now),
  };
}

/** The ticks from one that is due on, the last {@link KEPT_TICKS} of them, from the latest back: after a long time there may be very many. */
export function ticksBetween(recurrence: Recurrence, since: Date, now: Date): Date[] {
  const ticks: Date[] = [];
  let tick = recurrence.latest(now);
  while (tick !== undefined && tick >= since && ticks.length < KEPT_TICKS) {
    ticks.unshift(tick);
    tick = recurrence.latest(new Date(tick.getTime() - 1));
  }
  return ticks;
}

/** The next ticks after a moment, at most so many. */
export function nextTicks(recurrence: Recurrence, after: Date, count: number): Date[] {
  const ticks: Date[] = [];
  let tick = recurrence.next(after);
  while (tick !== undefined && ticks.length < count) {
    ticks.push(tick);
    tick = recurrence.next(tick);
  }
  return ticks;
}
