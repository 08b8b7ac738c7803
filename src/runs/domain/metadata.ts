/** Most pairs that a run has. */
export const MAX_METADATA_PAIRS = 20;
const KEY = /^[A-Za-z0-9._-]{1,64}$/;
const MAX_VALUE_BYTES = 256;

/** What is wrong with the metadata of a run, in words that follow the field's name; undefined when it is right. */
export function complaintAbout(metadata: unknown): string | undefined {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    return 'must be an object of strings';
  const pairs = Object.entries(metadata);
  if (pairs.length > MAX_METADATA_PAIRS) return `must have at most ${String(MAX_METADATA_PAIRS)} pairs`;
  for (const [key, value] of pairs) {
    if (!KEY.test(key))
      return `has a key that is not 1 to 64 characters of A-Z a-z 0-9 . _ -: ${JSON.stringify(key)}`;
    if (typeof value !== 'string') return `[${key}] must be a string`;
    if (value.includes('\0')) return `[${key}] must not contain NUL`;
    if (!value.isWellFormed()) return `[${key}] must be valid Unicode`;
    if (Buffer.byteLength(value) > MAX_VALUE_BYTES)
      return `[${key}] must be at most ${String(MAX_VALUE_BYTES)} bytes`;
  }
  return undefined;
}
