import { describe, expect, it } from '@jest/globals';
import { MAX_DEPTH, parsePayload } from './json-payload.js';

const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels);
const isValid = (text: string) => parsePayload(Buffer.from(text)).valid;

describe('parsePayload', () => {
  it('counts levels of arrays and objects together, outside of strings alone', () => {
    expect(isValid(nested(MAX_DEPTH))).toBe(true);
    expect(isValid(nested(MAX_DEPTH + 1))).toBe(false);
    expect(isValid(nested(50, '[{"a":', '}]').replace(':}', ':1}'))).toBe(true);
    expect(isValid(nested(51, '[{"a":', '}]').replace(':}', ':1}'))).toBe(false);
    expect(isValid(`[${JSON.stringify('[{'.repeat(500) + '\\"')}]`)).toBe(true);
    expect(isValid(`[${'[],'.repeat(500)}1]`)).toBe(true);
  });

  it('agrees with JSON.parse on what is not too deep', () => {
    const pieces = [
      '[',
      ']',
      '{',
      '}',
      '"',
      '\\',
      ',',
      ':',
      '1',
      '-',
      'e',
      'null',
      'a',
      ' ',
      '\n',
      '\\u0000',
      'é',
      '\0',
    ];
    let valid = 0;
    for (let seed = 1; seed <= 20_000; seed++) {
      let state = seed * 2_654_435_761;
      let text = '';
      for (let length = seed % 6; length >= 0; length--) {
        state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
        text += pieces[(state >> 8) % pieces.length]!;
      }
      const expected = parses(text);
      if (expected) valid += 1;
      expect({ text, valid: isValid(text) }).toEqual({ text, valid: expected });
    }
    expect(valid).toBeGreaterThan(100);
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
