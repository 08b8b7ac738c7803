import { describe, expect, it } from '@jest/globals';
import { patienceMs } from './patience.js';

describe('patienceMs', () => {
  it.each([
    [1, 60_000],
    [6, 60_000],
    [30, 300_000],
  ])('of a heartbeat every %d s is %d ms', (heartbeatSeconds, expected) => {
    expect(patienceMs(heartbeatSeconds)).toBe(expected);
  });
});
