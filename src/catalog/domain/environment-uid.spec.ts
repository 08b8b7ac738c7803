import { describe, expect, it } from '@jest/globals';
import { newEnvironmentUid } from './environment-uid.js';

describe("an environment's id", () => {
  const uids = Array.from({ length: 5_000 }, newEnvironmentUid);

  it('is 22 letters and digits, and never the same', () => {
    expect(uids.filter((uid) => !/^[A-Za-z0-9]{22}$/.test(uid))).toEqual([]);
    expect(new Set(uids).size).toBe(uids.length);
  });

  it('prefers no character', () => {
    const counts = new Map<string, number>();
    for (const character of uids.join('')) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // 1,774 of each are expected; a byte modulo 62 would make eight of them a quarter more frequent (2,148). 330 are 7.9 sigma.
    for (const count of counts.values()) expect(Math.abs(count - 1_774)).toBeLessThan(330);
  });
});
