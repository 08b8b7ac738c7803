import { describe, expect, it } from '@jest/globals';
import { dueTicks, KEPT_TICKS, nextTicks } from './due-ticks.js';
import { parseRecurrence, type Recurrence } from './recurrence.js';

const at = (time: string): Date => new Date(`2027-05-04T${time}Z`);
const times = (ticks: Date[]): string[] => ticks.map((tick) => tick.toISOString().slice(11, 19));

function recurrence(cron: string): Recurrence {
  const parsed = parseRecurrence({ cron, timezone: 'UTC', anchor: at('00:00:00') });
  if (parsed.outcome === 'invalid') throw new Error(parsed.message);
  return parsed.recurrence;
}

/** What is fired and what was missed, of a trigger that waited for the one moment, at the other. */
const due = (cron: string, since: string, now: string, window: number) => {
  const { fire, missed, next } = dueTicks(recurrence(cron), at(since), at(now), window);
  return { fire: times(fire), missed: times(missed), next: next && times([next])[0] };
};

const HOURLY = '0 * * * *';
const EACH_MINUTE = '* * * * *';

describe('what is due', () => {
  it.each<[string, ReturnType<typeof due>, string[], string[], string]>([
    ['on time', due(HOURLY, '10:00:00', '10:00:00.5', 60), ['10:00:00'], [], '11:00:00'],
    ['a little late, without a window', due(HOURLY, '10:00:00', '10:00:59', 0), ['10:00:00'], [], '11:00:00'],
    ['late, without a window', due(HOURLY, '10:00:00', '10:01:01', 0), [], ['10:00:00'], '11:00:00'],
    ['late, within the window', due(HOURLY, '10:00:00', '10:30:00', 30), ['10:00:00'], [], '11:00:00'],
    ['late, beyond the window', due(HOURLY, '10:00:00', '10:30:01', 30), [], ['10:00:00'], '11:00:00'],
    [
      'several late: the latest is made up for',
      due(HOURLY, '08:00:00', '10:30:00', 600),
      ['10:00:00'],
      ['08:00:00', '09:00:00'],
      '11:00:00',
    ],
    [
      'the latest on time: that is the one',
      due(HOURLY, '08:00:00', '10:00:01', 600),
      ['10:00:00'],
      ['08:00:00', '09:00:00'],
      '11:00:00',
    ],
    [
      'two within a minute: neither is late',
      due(EACH_MINUTE, '10:00:00', '10:01:00', 0),
      ['10:00:00', '10:01:00'],
      [],
      '10:02:00',
    ],
    [
      'minutes of downtime, without a window',
      due(EACH_MINUTE, '10:00:00', '10:03:30', 0),
      ['10:03:00'],
      ['10:00:00', '10:01:00', '10:02:00'],
      '10:04:00',
    ],
    ['the clock was put back', due(HOURLY, '12:00:00', '10:30:00', 60), [], [], '11:00:00'],
  ])('%s', (_, actual, fire, missed, next) => {
    expect(actual).toEqual({ fire, missed, next });
  });

  it('keeps no more than so many of those that were missed', () => {
    const since = new Date('2026-05-04T10:00:00Z');
    const begin = performance.now();
    const { fire, missed } = dueTicks(recurrence(EACH_MINUTE), since, at('10:00:30'), 60);
    expect(times(fire)).toEqual(['10:00:00']);
    expect(missed).toHaveLength(KEPT_TICKS - 1);
    expect(times(missed.slice(-1))).toEqual(['09:59:00']);
    // Half a million of them lie in that year.
    expect(performance.now() - begin).toBeLessThan(1000);
  });

  it('ends where nothing comes any more', () => {
    expect(nextTicks(recurrence('0 0 31 2 *'), at('00:00:00'), 10)).toEqual([]);
    expect(times(nextTicks(recurrence('0 */8 * * *'), at('00:00:00'), 2))).toEqual(['08:00:00', '16:00:00']);
  });
});
