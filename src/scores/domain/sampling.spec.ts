import { describe, expect, it } from '@jest/globals';
import { isSampled } from './sampling.js';

const runIds = Array.from(
  { length: 10_000 },
  (_, index) => `019c3f0e-7d3c-7a55-9a51-${index.toString(16).padStart(12, '0')}`,
);
const sampled = (scorerId: number, rate: number): string[] =>
  runIds.filter((runId) => isSampled(runId, scorerId, rate));

describe('sampling', () => {
  it.each([0.01, 0.25, 0.5, 0.9])('at the rate %d takes that share of runs, within 1.5 points', (rate) => {
    for (const scorerId of [1, 2, 12, 2_147_483_647]) {
      expect(Math.abs(sampled(scorerId, rate).length / runIds.length - rate)).toBeLessThan(0.015);
    }
  });

  it('takes none at 0 and all at 1', () => {
    expect(sampled(1, 0)).toEqual([]);
    expect(sampled(1, 1)).toEqual(runIds);
  });

  it('never changes: these answers were given by the first version', () => {
    expect(
      runIds
        .slice(0, 24)
        .map((runId) => (isSampled(runId, 7, 0.25) ? 1 : 0))
        .join(''),
    ).toBe('001011010011001011000000');
  });

  it('at a higher rate takes what it takes at a lower one, and more', () => {
    const more = new Set(sampled(3, 0.5));
    expect(sampled(3, 0.25).every((runId) => more.has(runId))).toBe(true);
  });

  it('is independent between scorers', () => {
    const first = new Set(sampled(1, 0.25));
    const both = sampled(2, 0.25).filter((runId) => first.has(runId)).length / runIds.length;
    expect(Math.abs(both - 0.0625)).toBeLessThan(0.01);
  });
});
