import { MINUTE } from '../../kernel/clock.js';

const DAY = 24 * 60 * MINUTE;

/**
 * The wall clock of a time zone. A local time is written as the `Date` that shows it in UTC: 09:30 in Berlin is 09:30Z here.
 *
 * Once a year or so the wall clock is put forward, and local times are skipped, or back, and local times come twice. Here every local
 * time is one moment: a skipped one is the end of the gap, one that comes twice is the first of the two.
 */
export class LocalTime {
  private readonly format: Intl.DateTimeFormat;

  /** @param timezone of the IANA database */
  constructor(timezone: string) {
    this.format = formatOf(timezone);
  }

  /** What the wall clock shows at the moment. */
  at(moment: Date): Date {
    return new Date(moment.getTime() + this.offset(moment.getTime()));
  }

  /** The latest local time that has come by the moment: ahead of the wall clock in the hour after it was put back. */
  latestBy(moment: Date): Date {
    const ms = moment.getTime();
    return new Date(ms + Math.max(this.offset(ms), this.offset(ms - DAY)));
  }

  /** When the wall clock shows the local time. */
  momentOf(local: Date): Date {
    const ms = local.getTime();
    // The offsets before and after a change that may be near: no zone changes twice within two days.
    const [before, after] = [this.offset(ms - DAY), this.offset(ms + DAY)];
    if (before === after) return new Date(ms - before);
    const moments = [ms - before, ms - after].filter((moment) => moment + this.offset(moment) === ms);
    return new Date(moments.length > 0 ? Math.min(...moments) : this.changeBetween(ms - after, ms - before));
  }

  /** The moment of the change of offset that lies after the one and not after the other, by bisection to the millisecond. */
  private changeBetween(early: number, late: number): number {
    const before = this.offset(early);
    let [low, high] = [early, late];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offset(middle) === before) low = middle;
      else high = middle;
    }
    return high;
  }

  /** Milliseconds by which the wall clock is ahead of UTC. */
  private offset(ms: number): number {
    const parts = new Map(this.format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const shown = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return shown - Math.floor(ms / 1000) * 1000;
  }
}

/** They are slow to make, and there are some 600 zones at most. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(timezone, format);
  return format;
}
