import { beforeEach, describe, expect, it } from '@jest/globals';
import { CALLER_CAPACITY, CALLER_REFRESH_MS, CALLER_TTL_MS, CallerCache } from './caller-cache.js';

interface Row {
  version: number;
  run: boolean;
}

let now: number;
let reads: string[];
/** What the database holds. */
let stored: Map<string, Row>;
/** Set, a read has begun (and seen what is stored) but does not end before it does. */
let slow: Promise<void> | undefined;
let cache: CallerCache<Row>;

beforeEach(() => {
  now = 1_000_000;
  reads = [];
  stored = new Map([['wk-a', { version: 1, run: false }]]);
  slow = undefined;
  cache = new CallerCache<Row>(
    async (key) => {
      reads.push(key);
      const seen = stored.get(key);
      await slow;
      return seen;
    },
    (row) => !row.run,
    () => now,
  );
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

function gate(): () => void {
  let open: () => void = () => undefined;
  slow = new Promise((resolve) => {
    open = resolve;
  });
  return open;
}

describe('a key that is used again', () => {
  it('is answered without a read and without a promise', async () => {
    await cache.get('wk-a');
    now += CALLER_REFRESH_MS - 1;
    expect(cache.get('wk-a')).toEqual({ version: 1, run: false });
    expect(reads).toHaveLength(1);
  });

  it('is read again in the background, once, from half of its life on', async () => {
    await cache.get('wk-a');
    stored.set('wk-a', { version: 2, run: false });
    now += CALLER_REFRESH_MS;
    expect(cache.get('wk-a')).toMatchObject({ version: 1 });
    expect(cache.get('wk-a')).toMatchObject({ version: 1 });
    await settled();
    expect(cache.get('wk-a')).toMatchObject({ version: 2 });
    expect(reads).toHaveLength(2);
  });

  it('is read in the foreground at the end of its life', async () => {
    await cache.get('wk-a');
    stored.delete('wk-a');
    now += CALLER_TTL_MS;
    expect(await cache.get('wk-a')).toBeUndefined();
  });

  it('ages from the beginning of the read, however long that took', async () => {
    const open = gate();
    const first = cache.get('wk-a');
    stored.delete('wk-a');
    now += CALLER_TTL_MS;
    open();
    expect(await first).toBeDefined();
    expect(await cache.get('wk-a')).toBeUndefined();
  });

  it('is refused as soon as a background read did not find it', async () => {
    await cache.get('wk-a');
    stored.delete('wk-a');
    now += CALLER_REFRESH_MS;
    expect(cache.get('wk-a')).toBeDefined();
    await settled();
    expect(await cache.get('wk-a')).toBeUndefined();
  });

  it('outlives a failure in the background, until the end of its life', async () => {
    await cache.get('wk-a');
    slow = Promise.reject(new Error('database is away'));
    now += CALLER_REFRESH_MS;
    expect(cache.get('wk-a')).toBeDefined();
    await settled();
    expect(cache.get('wk-a')).toBeDefined();
    now += CALLER_REFRESH_MS;
    await expect(cache.get('wk-a')).rejects.toThrow('database is away');
  });
});

describe('what is forgotten', () => {
  it('is read anew', async () => {
    await cache.get('wk-a');
    stored.delete('wk-a');
    cache.forgetAll();
    expect(await cache.get('wk-a')).toBeUndefined();
  });

  it('does not come back with a read that had begun before', async () => {
    const open = gate();
    const early = cache.get('wk-a');
    stored.delete('wk-a');
    cache.forgetAll();
    open();
    expect(await early).toBeDefined();
    expect(await cache.get('wk-a')).toBeUndefined();
  });
});

describe('nothing is kept', () => {
  it('of a key that is not known', async () => {
    await cache.get('wk-b');
    await cache.get('wk-b');
    expect(reads).toEqual(['wk-b', 'wk-b']);
  });

  it('of a key that must be judged by the database each time', async () => {
    stored.set('wk-run', { version: 1, run: true });
    await cache.get('wk-run');
    stored.delete('wk-run');
    expect(await cache.get('wk-run')).toBeUndefined();
  });

  it('of the keys that were read the longest ago, once there are too many', async () => {
    for (let index = 0; index <= CALLER_CAPACITY; index += 1) {
      stored.set(`wk-${index}`, { version: 1, run: false });
      await cache.get(`wk-${index}`);
    }
    reads = [];
    void cache.get(`wk-${CALLER_CAPACITY}`);
    void cache.get('wk-1');
    void cache.get('wk-0');
    expect(reads).toEqual(['wk-0']);
  });
});
