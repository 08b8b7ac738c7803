import { randomFillSync } from 'node:crypto';
import { v7, validate } from 'uuid';

/** Random bytes in store: asking the system for sixteen at a time is a large part of what taking in a webhook's delivery costs. */
const store = Buffer.alloc(4096);
let used = store.length;
let latest = { msecs: 0, seq: 0 };

/** A new UUID version 7 (RFC 9562): ids sort by creation, within a millisecond too, so indexes on them grow at one end. */
export function newUuid(): string {
  const random = randomBytes(16);
  const msecs = Date.now();
  latest =
    msecs > latest.msecs
      ? // Half of the counter's range is left to count on within the millisecond.
        { msecs, seq: random.readUInt32BE(0) >>> 1 }
      : { msecs: latest.msecs, seq: latest.seq + 1 };
  return v7({ random, ...latest });
}

function randomBytes(count: number): Buffer {
  if (used + count > store.length) {
    randomFillSync(store);
    used = 0;
  }
  used += count;
  return store.subarray(used - count, used);
}

export const isUuid = (value: unknown): value is string => typeof value === 'string' && validate(value);
