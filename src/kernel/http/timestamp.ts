import { ValidateBy } from 'class-validator';

/** RFC 3339, 5.6. */
const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(?:\.(\d+))?(?:Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** A time of a request, as text: see {@link parseTimestamp}. */
export const IsTimestamp = (): PropertyDecorator =>
  ValidateBy({
    name: 'isTimestamp',
    validator: {
      validate: (value: unknown) => typeof value === 'string' && parseTimestamp(value) !== undefined,
      defaultMessage: () => 'must be an RFC 3339 timestamp such as 2026-11-21T09:30:00Z',
    },
  });

/**
 * An RFC 3339 timestamp as a whole millisecond, the resolution of our own.
 *
 * @param round where what is finer goes: a bound that is exclusive may not move across a row
 * @returns undefined when it is none, or no moment of the calendar
 */
export function parseTimestamp(value: string | undefined, round: 'down' | 'up' = 'down'): Date | undefined {
  if (value === undefined) return undefined;
  const match = RFC_3339.exec(value);
  if (match === null) return undefined;
  const [, year = '', month = '', day = '', , second, fraction = ''] = match;
  if (!isDay(Number(year), Number(month), Number(day))) return undefined;
  // A leap second, which neither JavaScript nor PostgreSQL counts, is the next minute's beginning.
  const leap = second === '60';
  const whole = Date.parse((leap ? value.replace(/:60/, ':59') : value).toUpperCase().replace(/\.\d+/, ''));
  const milliseconds = leap ? 1000 : Number(fraction.slice(0, 3).padEnd(3, '0'));
  const finer = !leap && round === 'up' && /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  return new Date(whole + milliseconds + finer);
}

const isDay = (year: number, month: number, day: number): boolean =>
  year >= 1 &&
  month >= 1 &&
  month <= 12 &&
  day >= 1 &&
  day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
