import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { decodeCursor, encodeCursor } from '../pagination/cursor.js';
import { Keyring } from './keyring.js';
import { readToken, signToken } from './signed-token.js';

describe('signed tokens', () => {
  const keyring = new Keyring(randomBytes(32));

  it('read back what was signed', () => {
    expect(readToken(keyring, 'cursor', signToken(keyring, 'cursor', { a: 'ü', b: [1, null] }))).toEqual({
      a: 'ü',
      b: [1, null],
    });
  });

  it('are refused when any character changes', () => {
    const token = signToken(keyring, 'cursor', { a: 1 });
    for (let index = 0; index < token.length; index++) {
      const forged = token.slice(0, index) + (token[index] === 'A' ? 'B' : 'A') + token.slice(index + 1);
      expect(readToken(keyring, 'cursor', forged)).toBeUndefined();
    }
  });

  it('are refused for another purpose and by another installation', () => {
    const token = signToken(keyring, 'cursor', { a: 1 });
    expect(readToken(keyring, 'object-url', token)).toBeUndefined();
    expect(readToken(new Keyring(randomBytes(32)), 'cursor', token)).toBeUndefined();
  });

  it.each(['', '.', 'a', 'a.b', 'a.b.c', '💥.💥'])('are refused when they are %j', (token) => {
    expect(readToken(keyring, 'cursor', token)).toBeUndefined();
  });
});

describe('cursors', () => {
  const keyring = new Keyring(randomBytes(32));

  it('carry the last sort key', () => {
    expect(decodeCursor(keyring, 'title asc', encodeCursor(keyring, 'title asc', ['b', null]))).toEqual([
      'b',
      null,
    ]);
  });

  it('belong to one sort', () => {
    const cursor = encodeCursor(keyring, 'title asc', ['b', null]);
    expect(() => decodeCursor(keyring, 'title desc', cursor)).toThrow(/next_cursor/);
  });
});
