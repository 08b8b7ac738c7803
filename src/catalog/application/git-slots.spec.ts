import { describe, expect, it } from '@jest/globals';
import { Slots } from './git-slots.js';

const NEVER = new AbortController().signal;

describe('slots', () => {
  it('are given in turn, so many at a time', async () => {
    const slots = new Slots(2);
    const order: string[] = [];
    await slots.acquire(NEVER);
    await slots.acquire(NEVER);
    const third = slots.acquire(NEVER).then(() => order.push('third'));
    const fourth = slots.acquire(NEVER).then(() => order.push('fourth'));
    await Promise.resolve();
    expect(order).toEqual([]);
    slots.release();
    await third;
    expect(order).toEqual(['third']);
    slots.release();
    await fourth;
  });

  it('are not given to who has gone', async () => {
    const slots = new Slots(1);
    await slots.acquire(NEVER);
    const leaving = new AbortController();
    const gone = slots.acquire(leaving.signal);
    const patient = slots.acquire(NEVER);
    leaving.abort();
    expect(await gone).toBe(false);
    expect(await slots.acquire(leaving.signal)).toBe(false);
    slots.release();
    expect(await patient).toBe(true);
    slots.release();
    expect(await slots.acquire(NEVER)).toBe(true);
  });
});
