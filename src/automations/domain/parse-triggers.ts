import type { z } from 'zod';
import type { Trigger } from './automation.js';
import { triggersSchema } from './definition-schemas.js';
import type { FieldPath } from './field-path.js';

export type ParsedTriggers =
  | { outcome: 'parsed'; triggers: Trigger[] }
  | { outcome: 'invalid'; errors: { path: FieldPath; message: string }[] };

const MAX_ERRORS = 50;

/** Reads the triggers of an automation by the rules of a definition file. */
export function parseTriggers(given: unknown): ParsedTriggers {
  const parsed = triggersSchema.safeParse(given);
  return parsed.success
    ? { outcome: 'parsed', triggers: parsed.data }
    : { outcome: 'invalid', errors: parsed.error.issues.slice(0, MAX_ERRORS).flatMap(fieldErrors) };
}

/** What is wrong, field by field: of keys that nobody knows one for each. */
export function fieldErrors(issue: z.core.$ZodIssue): { path: FieldPath; message: string }[] {
  const path = issue.path.filter((part) => typeof part !== 'symbol');
  return issue.code === 'unrecognized_keys'
    ? issue.keys
        .slice(0, MAX_ERRORS)
        .map((key) => ({ path: [...path, key], message: 'is not a known field' }))
    : [{ path, message: issue.message }];
}
