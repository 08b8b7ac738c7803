import { describe, expect, it } from '@jest/globals';
import { RecentExecutions } from './recent-executions.js';

describe('RecentExecutions', () => {
  it('forgets the oldest beyond its capacity', () => {
    const recent = new RecentExecutions(2);
    for (const key of ['a', 'b', 'b', 'c']) recent.add(key);
    expect(['a', 'b', 'c'].map((key) => recent.has(key))).toEqual([false, true, true]);
  });
});
