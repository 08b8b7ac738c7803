import { describe, expect, it } from '@jest/globals';
import { exponentialDelayMs, parseRetryAfterMs, withJitter } from './backoff.js';

describe('exponentialDelayMs', () => {
  it('doubles up to the cap', () => {
    const range = { firstMs: 200, capMs: 5_000 };
    const delays = [0, 1, 2, 3, 4, 5, 6, 5000].map((retry) => exponentialDelayMs(retry, range));
    expect(delays).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  });
});

describe('withJitter', () => {
  it('spreads a delay over its upper half', () => {
    expect(withJitter(1000, 0)).toBe(500);
    expect(withJitter(1000, 0.5)).toBe(750);
    expect(withJitter(1000, 0.999)).toBeLessThan(1000);
  });
});

describe('parseRetryAfterMs', () => {
  const now = Date.parse('2026-11-01T12:00:00Z');

  it.each([
    ['0', 0],
    ['3', 3_000],
    [' 120 ', 120_000],
    ['Sun, 01 Nov 2026 12:00:30 GMT', 30_000],
    ['Sun, 01 Nov 2026 11:00:00 GMT', 0],
  ])('reads %j', (header, expected) => {
    expect(parseRetryAfterMs(header, now)).toBe(expected);
  });

  it.each([null, '', 'soon', '-5', '1.5', '9999999999'])('passes over %j', (header) => {
    expect(parseRetryAfterMs(header, now)).toBeUndefined();
  });
});
