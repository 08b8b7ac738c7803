import { describe, expect, it } from '@jest/globals';
import { version } from 'uuid';
import { newUuid } from './ids.js';

describe('newUuid', () => {
  it('makes unique ids of version 7 that sort by creation, also within one millisecond', () => {
    const ids = Array.from({ length: 20_000 }, newUuid);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => version(id) === 7)).toBe(true);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('bears the time of its making', () => {
    const before = Date.now();
    const milliseconds = Number.parseInt(newUuid().replace('-', '').slice(0, 12), 16);
    expect(milliseconds).toBeGreaterThanOrEqual(before);
    expect(milliseconds).toBeLessThanOrEqual(Date.now());
  });
});
