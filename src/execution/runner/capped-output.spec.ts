import { describe, expect, it } from '@jest/globals';
import { CappedOutput, type CapturedOutput } from './capped-output.js';

function capture(capBytes: number, ...chunks: (string | number[])[]): CapturedOutput {
  const output = new CappedOutput(capBytes);
  for (const chunk of chunks) output.append(Buffer.from(chunk as string));
  return output.finish();
}

describe('CappedOutput', () => {
  it('is empty without output', () => {
    expect(capture(8)).toEqual({ text: '', truncatedBytes: 0 });
  });

  it('keeps everything up to the cap', () => {
    expect(capture(8, 'abc', 'defgh')).toEqual({ text: 'abcdefgh', truncatedBytes: 0 });
    expect(capture(9, 'abcdefghi')).toEqual({ text: 'abcdefghi', truncatedBytes: 0 });
  });

  it('keeps both ends beyond it', () => {
    const expected = { text: 'abcd\n[… 2 bytes left out …]\nghij', truncatedBytes: 2 };
    expect(capture(8, 'abcdefghij')).toEqual(expected);
    expect(capture(8, 'abc', 'def', 'ghi', 'j')).toEqual(expected);
    expect(capture(8, ...Array.from('abcdefghij'))).toEqual(expected);
  });

  it('keeps the last bytes of any sequence of chunks', () => {
    const alphabet = 'abcdefghijklmnopqrstuvwxyz';
    for (let size = 1; size <= alphabet.length; size += 1) {
      const chunks = alphabet.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      expect(capture(10, ...chunks)).toEqual({
        text: 'abcde\n[… 16 bytes left out …]\nvwxyz',
        truncatedBytes: 16,
      });
    }
  });

  it('puts characters together that were cut by a chunk', () => {
    expect(capture(8, [0xe2, 0x82], [0xac])).toEqual({ text: '€', truncatedBytes: 0 });
  });

  it('puts a character together that lies across the halves', () => {
    expect(capture(8, 'abc€de')).toEqual({ text: 'abc€de', truncatedBytes: 0 });
  });

  it('leaves out characters that the cap cut', () => {
    // The cap of 8 keeps 4 bytes at each end: "ab" with half a "€", and half a "€" with "yz".
    expect(capture(8, 'ab€ + €yz')).toEqual({ text: 'ab\n[… 9 bytes left out …]\nyz', truncatedBytes: 9 });
    expect(capture(8, '😀 + 😀')).toEqual({ text: '😀\n[… 3 bytes left out …]\n😀', truncatedBytes: 3 });
  });

  it('replaces what is no UTF-8, and NUL', () => {
    expect(capture(8, [0x61, 0xff, 0x00, 0x62]).text).toBe('a\uFFFD\uFFFDb');
  });

  it('keeps stray continuation bytes as replacement characters', () => {
    const { text, truncatedBytes } = capture(
      8,
      Array.from({ length: 20 }, () => 0x80),
    );
    expect(text).toMatch(/^\uFFFD*\n\[… \d+ bytes left out …\]\n\uFFFD*$/);
    expect(truncatedBytes).toBeGreaterThanOrEqual(12);
  });
});
