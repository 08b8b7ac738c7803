import { describe, expect, it } from '@jest/globals';
import { complaintAbout } from '../domain/metadata.js';
import { isoDuration } from './run.dto.js';

describe('isoDuration', () => {
  it.each([
    [0, 'PT0S'],
    [2.6184, 'PT2.618S'],
    [60, 'PT1M'],
    [3600, 'PT1H'],
    [3725.5, 'PT1H2M5.5S'],
    [90_000, 'PT25H'],
    [-1, 'PT0S'],
  ])('of %d seconds is %s', (seconds, expected) => {
    expect(isoDuration(seconds)).toBe(expected);
  });
});

describe('metadata', () => {
  it.each([
    [{}],
    [{ 'a.b_c-1': '' }],
    [{ k: 'ä'.repeat(128) }],
    [Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${String(i)}`, 'v']))],
  ])('accepts %j', (metadata) => {
    expect(complaintAbout(metadata)).toBeUndefined();
  });

  it.each([
    [[], /object/],
    ['x', /object/],
    [null, /object/],
    [{ 'a b': 'v' }, /key/],
    [{ '': 'v' }, /key/],
    [{ [`k${'x'.repeat(64)}`]: 'v' }, /key/],
    [{ k: 1 }, /string/],
    [{ k: 'a\0b' }, /NUL/],
    [{ k: '\ud800' }, /Unicode/],
    [{ k: 'ä'.repeat(129) }, /256 bytes/],
    [Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${String(i)}`, 'v'])), /20 pairs/],
  ])('refuses %j', (metadata, complaint) => {
    expect(complaintAbout(metadata)).toMatch(complaint);
  });
});
