import { describe, expect, it } from '@jest/globals';
import { CronExpressionParser } from 'cron-parser';
import { parseRecurrence, type Recurrence } from './recurrence.js';

const ANCHOR = new Date('2027-01-01T00:00:00Z');

function recurrence(cron: string, timezone = 'UTC'): Recurrence {
  const parsed = parseRecurrence({ cron, timezone, anchor: ANCHOR });
  if (parsed.outcome === 'invalid') throw new Error(`${parsed.field} ${parsed.message}`);
  return parsed.recurrence;
}

const complaintAbout = (cron: string, timezone = 'UTC'): string | undefined => {
  const parsed = parseRecurrence({ cron, timezone, anchor: ANCHOR });
  return parsed.outcome === 'invalid' ? `${parsed.field}: ${parsed.message}` : undefined;
};

/** All ticks after the one moment, up to the other. */
function ticksOf(rule: Recurrence, after: Date, upTo: Date): string[] {
  const ticks: string[] = [];
  for (let tick = rule.next(after); tick !== undefined && tick <= upTo; tick = rule.next(tick)) {
    ticks.push(tick.toISOString());
  }
  return ticks;
}

/** Awkward, each in its own way: steps that do not divide, ranges with steps, both kinds of days, ends of months, names. */
const AWKWARD = [
  '*/7 * * * *',
  '*/59 * * * *',
  '3-59/13 */5 * * *',
  '0-10/3,50-59/4 */7 * * *',
  '1,2 */11 * * *',
  '59 23 31 12 *',
  '0 0 29 2 *',
  '0 12 29 2 1',
  '0 0 30 1-3 *',
  '0 0 31 * *',
  '0 0 31 */2 *',
  '15 10 28-31 * *',
  '0 0 13 * 5',
  '0 0 13 * FRI',
  '0 0 1,15 * 3',
  '0 0 */2 * 1',
  '0 0 1 * */2',
  '0 0 1-7 * 1',
  '0 0 */10 * */3',
  '5 4 * * SUN',
  '5 4 * * 0',
  '5 4 * * 7',
  '5 4 * * 5-7',
  '5 4 * * 6-7',
  '5 4 * * 0,6',
  '0 0 * * MON-FRI',
  '0 22 * * 1-5',
  '23 0-20/2 * * *',
  '0 0-23/5 * * *',
  '*/45 */2 * * *',
  '7-59/7 7-19/7 */7 */7 *',
  '0 0 * JAN,MAR-MAY,DEC *',
  '0 0 1 jan *',
  '0 9-17/4 * 2-11/3 MON-FRI',
  '30 6 1 */3 *',
  '0 0 L * *',
  '0 0 L 2 *',
  '0 0 * * 5L',
  '0 0 * * 1#1',
  '0 0 * * MON#5',
  '0 0 ? * 2',
  '0 0 15 * ?',
  '* 5 * 6 *',
  '*/2 */2 */2 */2 *',
  '58-59 22-23 30-31 12 *',
  '0 0 31 1,3,5,7,8,10,12 *',
  '0 0 31 4,5 *',
  '17 3 5-11 * 4',
  '00 08 * * *',
  '08 09 08 09 *',
  '0 0 29 * 1-5/2',
  '0,15,30,45 0,6,12,18 1,11,21 * *',
  '10-50/20 1-23/11 2-30/14 1-12/5 *',
  '@yearly',
  '@monthly',
  '@weekly',
  '@daily',
  '@hourly',
];

describe('a year of ticks, in UTC', () => {
  it('is of more than fifty awkward expressions', () => {
    expect(new Set(AWKWARD).size).toBeGreaterThanOrEqual(50);
  });

  it.each(AWKWARD)('%s: agrees tick by tick with another library', (cron) => {
    // Over a 29 February.
    const from = new Date('2027-12-31T23:59:00Z');
    const to = new Date('2029-01-01T00:00:00Z');
    const other = CronExpressionParser.parse(cron.replace('?', '*'), { currentDate: from, tz: 'UTC' });
    const expected: string[] = [];
    for (let tick = other.next().toDate(); tick <= to; tick = other.next().toDate()) {
      expected.push(tick.toISOString());
    }
    expect(expected.length).toBeGreaterThan(0);
    expect(ticksOf(recurrence(cron), from, to)).toEqual(expected);
  });

  it.each(AWKWARD)('%s: is the same backwards', (cron) => {
    const rule = recurrence(cron);
    const to = new Date('2028-04-01T00:00:00Z');
    const forwards = ticksOf(rule, new Date('2028-02-20T00:00:00Z'), to);
    const backwards: string[] = [];
    for (let tick = rule.latest(to); tick !== undefined && tick > new Date('2028-02-20T00:00:00Z');) {
      backwards.unshift(tick.toISOString());
      tick = rule.latest(new Date(tick.getTime() - 1));
    }
    expect(backwards).toEqual(forwards);
  });
});

describe('a change of the wall clock', () => {
  /** New York: 02:00 becomes 03:00 on 14 March 2027 (07:00Z), 02:00 becomes 01:00 on 7 November (06:00Z). */
  const SPRING = { timezone: 'America/New_York', from: '2027-03-14T05:00:00Z', to: '2027-03-14T09:00:00Z' };
  const AUTUMN = { timezone: 'America/New_York', from: '2027-11-07T04:30:00Z', to: '2027-11-07T08:00:00Z' };

  it.each<[string, string, { timezone: string; from: string; to: string }, string[]]>([
    ['a skipped time fires at the end of the gap', '30 2 * * *', SPRING, ['07:00']],
    ['so does every time of a skipped hour, together', '*/20 2 * * *', SPRING, ['07:00']],
    ['together with what is due at the end anyway', '0 2,3 * * *', SPRING, ['07:00']],
    ['what is due around it is not touched', '30 1,3 * * *', SPRING, ['06:30', '07:30']],
    ['hourly, on the hour', '0 * * * *', SPRING, ['06:00', '07:00', '08:00', '09:00']],
    ['hourly, on the half', '30 * * * *', SPRING, ['05:30', '06:30', '07:00', '07:30', '08:30']],
    ['a range across it', '15,45 1-3 * * *', SPRING, ['06:15', '06:45', '07:00', '07:15', '07:45']],
    ['a repeated time fires the first time', '30 1 * * *', AUTUMN, ['05:30']],
    ['so does every time of a repeated hour', '*/20 1 * * *', AUTUMN, ['05:00', '05:20', '05:40']],
    ['hourly, one for each local hour', '0 * * * *', AUTUMN, ['05:00', '07:00', '08:00']],
    ['the hour after it', '0 2 * * *', AUTUMN, ['07:00']],
    [
      'half an hour, in Lord Howe: skipped',
      '10 2 * * *',
      { timezone: 'Australia/Lord_Howe', from: '2027-10-02T14:00:00Z', to: '2027-10-02T18:00:00Z' },
      ['15:30'],
    ],
    [
      'half an hour, in Lord Howe: repeated',
      '45 1 * * *',
      { timezone: 'Australia/Lord_Howe', from: '2027-04-03T14:00:00Z', to: '2027-04-03T18:00:00Z' },
      ['14:45'],
    ],
    [
      'at midnight, in Asunción: skipped',
      '0 0 * * *',
      { timezone: 'America/Asuncion', from: '2023-10-01T00:00:00Z', to: '2023-10-01T12:00:00Z' },
      ['04:00'],
    ],
    [
      'a whole day, in Samoa: skipped',
      '0 12 30 12 *',
      { timezone: 'Pacific/Apia', from: '2011-12-29T12:00:00Z', to: '2011-12-31T12:00:00Z' },
      ['10:00'],
    ],
  ])('%s (%s)', (_, cron, { timezone, from, to }, expected) => {
    const rule = recurrence(cron, timezone);
    const ticks = ticksOf(rule, new Date(from), new Date(to));
    expect(ticks.map((tick) => tick.slice(11, 16))).toEqual(expected);
    const last = rule.latest(new Date(to))?.toISOString();
    expect(last).toBe(ticks.at(-1));
  });

  it('from within a repeated hour the next and the latest are right', () => {
    const rule = recurrence('*/30 1 * * *', 'America/New_York');
    const within = new Date('2027-11-07T06:10:00Z');
    expect(rule.next(within)?.toISOString()).toBe('2027-11-08T06:00:00.000Z');
    expect(rule.latest(within)?.toISOString()).toBe('2027-11-07T05:30:00.000Z');
  });

  it.each(['America/New_York', 'Europe/London', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/St_Johns'])(
    'in %s every local time of a year has one moment, in order',
    (timezone) => {
      const rule = recurrence('0 * * * *', timezone);
      const from = new Date('2027-01-01T00:00:00Z');
      const ticks = ticksOf(rule, from, new Date('2028-01-01T00:00:00Z'));
      const shown = new Intl.DateTimeFormat('sv-SE', {
        timeZone: timezone,
        dateStyle: 'short',
        timeStyle: 'short',
      });
      // None comes twice on the wall clock, and none lies two periods from the one before but where the clock was put back.
      expect(new Set(ticks.map((tick) => shown.format(new Date(tick)))).size).toBe(ticks.length);
      expect(ticks.length).toBeGreaterThanOrEqual(365 * 24 - 2);
    },
  );
});

describe('@every', () => {
  const anchor = new Date('2027-01-01T10:00:12.345Z');
  const every = (cron: string): Recurrence => {
    const parsed = parseRecurrence({ cron, timezone: 'UTC', anchor });
    if (parsed.outcome === 'invalid') throw new Error(parsed.message);
    return parsed.recurrence;
  };

  it.each([
    ['@every 90m', '2027-01-01T11:30:12.000Z'],
    ['@every 1h30m', '2027-01-01T11:30:12.000Z'],
    ['@every 90s', '2027-01-01T10:01:42.000Z'],
    ['@EVERY  2h', '2027-01-01T12:00:12.000Z'],
  ])('%s counts from its anchor', (cron, first) => {
    expect(every(cron).next(anchor)?.toISOString()).toBe(first);
    expect(every(cron).latest(anchor)).toBeUndefined();
    expect(every(cron).latest(new Date(first))?.toISOString()).toBe(first);
  });

  it('has the same ticks from wherever one asks', () => {
    const rule = every('@every 90m');
    expect(rule.next(new Date('2027-01-09T00:00:00Z'))?.toISOString()).toBe('2027-01-09T01:00:12.000Z');
    expect(rule.next(new Date('2020-01-01T00:00:00Z'))?.toISOString()).toBe('2027-01-01T11:30:12.000Z');
  });

  it.each(['@every', '@every 0m', '@every 30s', '@every 1.5h', '@every -5m', '@every 10000h', '@every 90'])(
    '%s is refused',
    (cron) => {
      expect(complaintAbout(cron)).toMatch(/^cron: has a duration that is not /);
    },
  );
});

describe('what is refused', () => {
  it.each([
    ['60 * * * *', /minute .*60/],
    ['*/0 * * * *', /minute/],
    ['5/15 * * * *', /minute/],
    ['1,,2 * * * *', /minute/],
    ['H * * * *', /minute/],
    ['0 24 * * *', /hour .*24/],
    ['0 22-2 * * *', /hour .*22-2/],
    ['0 ? * * *', /hour/],
    ['0 0 0 * *', /day of month/],
    ['0 0 32 * *', /day of month/],
    ['0 0 15W * *', /day of month/],
    ['0 0 1 13 *', /month .*13/],
    ['0 0 1 FOO *', /month .*FOO/],
    ['0 0 * * 8', /day of week .*8/],
    ['0 0 * * +1', /day of week/],
    ['0 0 * * 1#9', /day of week/],
    ['0 0 * * MOO', /day of week .*MOO/],
  ])('%s names the part', (cron, part) => {
    const complaint = complaintAbout(cron) ?? '';
    expect(complaint).toMatch(
      /^cron: has a (minute|hour|day of month|month|day of week) that is not valid, /,
    );
    expect(complaint).toMatch(part);
  });

  it.each(['* * * * * *', '0 0 * *', '', 'every day', '0 0 * * * 2027', '* '.repeat(1000)])(
    '%j has not five fields',
    (cron) => {
      expect(complaintAbout(cron)).toMatch(/^cron: must have five fields/);
    },
  );

  it('is too long', () => {
    expect(complaintAbout(`${'0,'.repeat(250)}0 0 * * *`)).toBe('cron: must have at most 500 characters');
  });

  it.each(['@reboot', '@never', '@'])('%s is no descriptor', (cron) => {
    expect(complaintAbout(cron)).toMatch(/^cron: must be one of @yearly/);
  });

  it.each(['', 'Mars/Olympus', '+01:00', 'UTC+1', '../etc/passwd'])('%j is no time zone', (timezone) => {
    expect(complaintAbout('@daily', timezone)).toMatch(/^timezone: must be a time zone/);
  });

  it.each(['0 0 31 2 *', '0 0 30 2 *', '0 0 31 4,6,9,11 *'])('%s never comes', (cron) => {
    expect(recurrence(cron).next(ANCHOR)).toBeUndefined();
    expect(recurrence(cron, 'Europe/Berlin').latest(ANCHOR)).toBeUndefined();
  });
});
