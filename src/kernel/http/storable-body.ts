import { type FieldError, Problem } from '../errors/problem.js';
import { isStorableText, REFUSED_KEYS, toStorableText } from '../storable-text.js';

/** Deeper than anything that a DTO describes; what is recursive behind this check would exhaust the stack. */
const MAX_DEPTH = 64;

/** @throws Problem 400 naming the field that holds text that cannot be stored, is nested too deeply or would not arrive whole */
export function requireStorable(body: object): void {
  const complaint = complaintAbout(body, []);
  if (complaint !== undefined) throw Problem.invalid([complaint]);
}

/**
 * A copy in which text that cannot be stored is replaced: what an agent reports about its run holds whatever its commands wrote.
 *
 * @throws Problem 400 when it is nested too deeply
 */
export function toStorable(value: unknown, path: string[] = []): unknown {
  if (typeof value === 'string') return toStorableText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (path.length > MAX_DEPTH) throw Problem.invalid([tooDeep(path)]);
  if (Array.isArray(value)) return value.map((item, index) => toStorable(item, [...path, String(index)]));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [toStorableText(key), toStorable(item, [...path, key])]),
  );
}

function complaintAbout(value: unknown, path: string[]): FieldError | undefined {
  if (typeof value === 'string') return isStorableText(value) ? undefined : notStorable(path);
  if (typeof value !== 'object' || value === null) return undefined;
  if (path.length > MAX_DEPTH) return tooDeep(path);
  for (const [key, item] of Object.entries(value)) {
    if (path.length > 0 && REFUSED_KEYS.includes(key)) return refusedKey(path, key);
    const complaint = isStorableText(key) ? complaintAbout(item, [...path, key]) : notStorable(path);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

const notStorable = (path: string[]): FieldError => ({
  field: path.join('.') || 'body',
  message: 'must be valid Unicode without NUL',
});

const refusedKey = (path: string[], key: string): FieldError => ({
  field: path.join('.'),
  message: `must not have a key that is called ${key}`,
});

const tooDeep = ([field = 'body']: string[]): FieldError => ({ field, message: 'is nested too deeply' });
