import { describe, expect, it } from '@jest/globals';
import { RedialDelay } from './redial-delay.js';

describe('RedialDelay', () => {
  it('doubles after refused dials, up to its cap', () => {
    const delay = new RedialDelay(5_000);
    const delays = Array.from({ length: 5 }, () => delay.afterEnd(undefined));
    expect(delays).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
  });

  it('is nothing after a connection, and starts anew', () => {
    const delay = new RedialDelay(60_000);
    delay.afterEnd(undefined);
    delay.afterEnd(undefined);
    expect([delay.afterEnd(3_000), delay.afterEnd(undefined)]).toEqual([0, 1_000]);
  });

  it('takes a connection that ended at once for a refusal', () => {
    const delay = new RedialDelay(60_000);
    expect([delay.afterEnd(5), delay.afterEnd(5), delay.afterEnd(999)]).toEqual([1_000, 2_000, 4_000]);
  });
});
