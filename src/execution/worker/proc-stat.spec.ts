import { describe, expect, it } from '@jest/globals';
import { parseProcStat } from './proc-stat.js';

const AFTER_NAME =
  'S 1 4242 4242 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 10000 100 18446744073709551615 1 1 0 0 0';

describe('parseProcStat', () => {
  it.each(['sleep', 'my program', 'tricky) Z 1 (name'])('reads past the name %j', (name) => {
    expect(parseProcStat(`4243 (${name}) ${AFTER_NAME}`)).toEqual({
      state: 'S',
      groupId: 4242,
      startTime: '987654',
    });
  });

  it('refuses what is something else', () => {
    expect(parseProcStat('')).toBeUndefined();
    expect(parseProcStat('4243 (sleep) S 1')).toBeUndefined();
  });
});
