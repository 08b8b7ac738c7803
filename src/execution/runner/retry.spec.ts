import { describe, expect, it } from '@jest/globals';
import { GaveUpError, retry, type Attempt, type RetryClock } from './retry.js';

const BACKOFF = { firstMs: 200, capMs: 5_000 };

/** Time passes in sleeps alone. Chance is at its upper end: no jitter. */
function fakeClock(): RetryClock & { sleeps: number[] } {
  let time = 0;
  const sleeps: number[] = [];
  return {
    sleeps,
    now: () => time,
    sleep: async (ms) => {
      sleeps.push(ms);
      time += ms;
    },
    random: () => 1,
  };
}

/** Answers "again" until its attempts are used up. */
function succeedsAt(attempt: number, retryAfterMs?: number): () => Promise<Attempt<number>> {
  let attempts = 0;
  return async () => {
    attempts += 1;
    return attempts === attempt
      ? { kind: 'done', value: attempts }
      : { kind: 'again', why: 'busy', retryAfterMs };
  };
}

describe('retry', () => {
  it('waits for nothing when the first attempt is good', async () => {
    const clock = fakeClock();
    expect(await retry(succeedsAt(1), { patienceMs: 1000, backoff: BACKOFF }, clock)).toBe(1);
    expect(clock.sleeps).toEqual([]);
  });

  it('waits longer and longer', async () => {
    const clock = fakeClock();
    expect(await retry(succeedsAt(8), { patienceMs: 60_000, backoff: BACKOFF }, clock)).toBe(8);
    expect(clock.sleeps).toEqual([200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  it('waits as long as the server asks for, when that is longer', async () => {
    const clock = fakeClock();
    await retry(succeedsAt(5, 1000), { patienceMs: 60_000, backoff: BACKOFF }, clock);
    expect(clock.sleeps).toEqual([1000, 1000, 1000, 1600]);
  });

  it('tries once more at the end of its patience, then gives up with the last reason', async () => {
    const clock = fakeClock();
    const patience = { patienceMs: 1000, backoff: BACKOFF };
    await expect(retry(succeedsAt(0), patience, clock)).rejects.toThrow(new GaveUpError('busy'));
    expect(clock.sleeps).toEqual([200, 400, 400]);
  });

  it('is bounded whatever the server asks for', async () => {
    const clock = fakeClock();
    const patience = { patienceMs: 1000, backoff: BACKOFF };
    await expect(retry(succeedsAt(0, 3_600_000), patience, clock)).rejects.toThrow(GaveUpError);
    expect(clock.sleeps).toEqual([1000]);
  });

  it('tries once without patience', async () => {
    const clock = fakeClock();
    const patience = { patienceMs: 0, backoff: BACKOFF };
    await expect(retry(succeedsAt(2), patience, clock)).rejects.toThrow(GaveUpError);
    expect(clock.sleeps).toEqual([]);
  });

  it('does not repeat what throws', async () => {
    const clock = fakeClock();
    const attempt = async (): Promise<Attempt<number>> => {
      throw new Error('over');
    };
    await expect(retry(attempt, { patienceMs: 1000, backoff: BACKOFF }, clock)).rejects.toThrow('over');
    expect(clock.sleeps).toEqual([]);
  });
});
