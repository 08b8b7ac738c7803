import { parseCron } from './cron-recurrence.js';
import { parseInterval } from './interval-recurrence.js';

/** The moments at which something is due. Both methods are pure: the same question has the same answer on every replica. */
export interface Recurrence {
  /** The first one after the moment; undefined = never again. */
  next(after: Date): Date | undefined;
  /** The last one that is not after the moment; undefined = none before it. */
  latest(notAfter: Date): Date | undefined;
}

/** When something is due, in the words of whoever set it. */
export interface RecurrenceRule {
  /** Five fields of cron, `@daily` and the like, or `@every 90m`. */
  cron: string;
  /** Of the IANA database; the fields of cron are local time there. */
  timezone: string;
  /** What `@every` counts from. */
  anchor: Date;
}

export type ParsedRecurrence =
  | { outcome: 'parsed'; recurrence: Recurrence }
  /** The message goes on after the name of the field. */
  | { outcome: 'invalid'; field: 'cron' | 'timezone'; message: string };

/** Reads a rule; everything about it is judged but whether it ever comes due. */
export function parseRecurrence(rule: RecurrenceRule): ParsedRecurrence {
  if (!isTimezone(rule.timezone)) {
    return {
      outcome: 'invalid',
      field: 'timezone',
      message: 'must be a time zone of the IANA database, such as Europe/Berlin',
    };
  }
  const cron = rule.cron.trim();
  const parsed = /^@every\b/i.test(cron) ? parseInterval(cron, rule.anchor) : parseCron(cron, rule.timezone);
  return 'message' in parsed
    ? { outcome: 'invalid', field: 'cron', message: parsed.message }
    : { outcome: 'parsed', recurrence: parsed };
}

/** Names alone: Node.js takes offsets such as `+01:00` as well, which know nothing of summer time. */
function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
