import { isUtf8 } from 'node:buffer';

/** A body may be this large. */
export const MAX_BODY_BYTES = 262_144;
/** Arrays and objects within each other. What is deeper would exhaust the stack of whatever walks it. */
export const MAX_DEPTH = 100;

export type JsonPayload = { valid: true; value: unknown } | { valid: false };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Reads any JSON value (RFC 8259) of strict UTF-8, without a byte order mark, at most 100 levels deep. */
export function parsePayload(body: Buffer): JsonPayload {
  if (!isUtf8(body) || depthOf(body) > MAX_DEPTH) return { valid: false };
  try {
    return { valid: true, value: JSON.parse(body.toString()) };
  } catch {
    return { valid: false };
  }
}

/** How deep the brackets outside of strings go. Of what is no JSON it says nothing, and needs not. */
function depthOf(body: Buffer): number {
  // Most bodies have fewer brackets than levels are allowed; looking for them natively is many times faster.
  if (countUpTo(MAX_DEPTH + 1, body, '[') + countUpTo(MAX_DEPTH + 1, body, '{') <= MAX_DEPTH) return 0;
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] ?? 0;
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) {
      isInString = true;
    } else if (OPENING.has(byte)) {
      deepest = Math.max(deepest, (depth += 1));
    } else if (CLOSING.has(byte)) {
      depth -= 1;
    }
  }
  return deepest;
}

function countUpTo(limit: number, body: Buffer, character: string): number {
  let count = 0;
  for (let at = body.indexOf(character); at >= 0 && count < limit; at = body.indexOf(character, at + 1)) {
    count += 1;
  }
  return count;
}
