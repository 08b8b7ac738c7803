import { Cron } from 'croner';
import { LocalTime } from './local-time.js';
import type { Recurrence } from './recurrence.js';

/** The fields of cron in their order, with what stands for "any" in all but the one that is looked at. */
const FIELDS = ['minute', 'hour', 'day of month', 'month', 'day of week'] as const;

const DESCRIPTORS: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** What all dialects agree on, and `L` and `#`. Not what they read differently: `5/15`, `15W`, a reversed range, `H`. */
const FIELD = /^(?:[\d*,\-/#]|L|[A-Z]{3})+$/i;
const MAX_CHARACTERS = 500;

/**
 * Reads a cron expression. As in Vixie cron a day is due that fits the day of month or the day of week where both are given, and the
 * one that is given where the other is `*`; `*` with a step counts as given. `?` says the same as `*` in either.
 *
 * @returns what is wrong, naming the part, in words that follow the name of the field
 */
export function parseCron(expression: string, timezone: string): Recurrence | { message: string } {
  if (expression.startsWith('@') && DESCRIPTORS[expression.toLowerCase()] === undefined) {
    return { message: `must be one of ${Object.keys(DESCRIPTORS).join(', ')}, or @every with a duration` };
  }
  const fields = (DESCRIPTORS[expression.toLowerCase()] ?? expression).split(/\s+/);
  if (fields.length !== FIELDS.length) {
    return {
      message: `must have five fields, ${FIELDS.join(', ')}, not ${String(fields.length)}: there is none for seconds or years`,
    };
  }
  if (expression.length > MAX_CHARACTERS) {
    return { message: `must have at most ${String(MAX_CHARACTERS)} characters` };
  }
  const plain = fields.map((field, index) => (field === '?' && (index === 2 || index === 4) ? '*' : field));
  for (const [index, name] of FIELDS.entries()) {
    const field = plain[index] ?? '';
    const complaint = complaintAbout(field, index);
    if (complaint !== undefined)
      return { message: `has a ${name} that is not valid, ${field}: ${complaint}` };
  }
  const cron = parse(plain.join(' '));
  return new CronRecurrence(cron, timezone === 'UTC' ? undefined : new LocalTime(timezone));
}

/** In UTC: the zone is ours to reckon with, so that every tick of a skipped hour counts and none of a repeated one does twice. */
const parse = (expression: string): Cron =>
  new Cron(expression, { mode: '5-part', utcOffset: 0, paused: true });

/** Each field is tried alone, since the library does not say in which one it stumbled. */
function complaintAbout(field: string, index: number): string | undefined {
  if (!FIELD.test(field)) return 'it has characters that mean nothing there';
  try {
    parse(FIELDS.map((_, other) => (other === index ? field : '*')).join(' '));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
  }
}

/** The moments at which the wall clock of a zone fits a cron expression. */
class CronRecurrence implements Recurrence {
  /** @param local the wall clock; undefined = UTC */
  constructor(
    private readonly cron: Cron,
    private readonly local: LocalTime | undefined,
  ) {}

  next(after: Date): Date | undefined {
    if (this.local === undefined) return this.cron.nextRun(after) ?? undefined;
    // Local times come in the order of their moments; several may be one moment, and in a repeated hour the moment may be past.
    let time: Date | null = this.local.at(after);
    for (;;) {
      time = this.cron.nextRun(time);
      if (time === null) return undefined;
      const moment = this.local.momentOf(time);
      if (moment > after) return moment;
    }
  }

  latest(notAfter: Date): Date | undefined {
    const local = this.local;
    // The library answers what is before a time, to the second.
    let time = new Date((local?.latestBy(notAfter) ?? notAfter).getTime() + 1000);
    for (;;) {
      const [previous] = this.cron.previousRuns(1, time);
      if (previous === undefined) return undefined;
      const moment = local?.momentOf(previous) ?? previous;
      if (moment <= notAfter) return moment;
      time = previous;
    }
  }
}
