import { MINUTE, SECOND } from '../../kernel/clock.js';
import type { Recurrence } from './recurrence.js';

const SHORTEST_MS = MINUTE;
const LONGEST_MS = 366 * 24 * 60 * MINUTE;
const DURATION = /^@every\s+(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/i;

/** Reads `@every` and a duration such as `90m` or `1h30m`. @param anchor what it counts from, to the second */
export function parseInterval(expression: string, anchor: Date): Recurrence | { message: string } {
  const [, hours, minutes, seconds] = DURATION.exec(expression) ?? [];
  const period =
    Number(hours ?? 0) * 60 * MINUTE + Number(minutes ?? 0) * MINUTE + Number(seconds ?? 0) * SECOND;
  if (period === 0) return { message: 'has a duration that is not like 90m, 2h or 1h30m: @every 90m' };
  if (period < SHORTEST_MS || period > LONGEST_MS) {
    return { message: 'has a duration that is not between one minute and 366 days' };
  }
  return new IntervalRecurrence(Math.floor(anchor.getTime() / SECOND) * SECOND, period);
}

/** One period after the anchor, two, three and so on. */
class IntervalRecurrence implements Recurrence {
  constructor(
    private readonly anchorMs: number,
    private readonly periodMs: number,
  ) {}

  next(after: Date): Date {
    return this.at(Math.max(0, this.countUpTo(after)) + 1);
  }

  latest(notAfter: Date): Date | undefined {
    const count = this.countUpTo(notAfter);
    return count < 1 ? undefined : this.at(count);
  }

  private countUpTo(moment: Date): number {
    return Math.floor((moment.getTime() - this.anchorMs) / this.periodMs);
  }

  private at(count: number): Date {
    return new Date(this.anchorMs + count * this.periodMs);
  }
}
