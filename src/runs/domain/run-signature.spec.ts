import { expect, it } from '@jest/globals';
import { signatureBits, signatureOf } from './run-signature.js';

const has = (signature: Buffer, token: string): boolean =>
  signatureBits(token).every((bit) => ((signature[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0);

const numbered = (count: number, kind: string): string[] =>
  Array.from({ length: count }, (_, n) => `${kind}:${String(n)}`);

it('a signature has the bits of each of its tokens', () => {
  const tokens = [...numbered(60, 'metadata'), 'é', ''];
  const signature = signatureOf(tokens);
  expect(signature).toHaveLength(64);
  expect(tokens.filter((token) => !has(signature, token))).toEqual([]);
});

it('few others seem to be among the tokens of an ordinary run', () => {
  const signature = signatureOf(numbered(65, 'word'));
  const seeming = numbered(10_000, 'other').filter((token) => has(signature, token));
  expect(seeming.length).toBeGreaterThan(0);
  expect(seeming.length).toBeLessThan(800);
});

it.each([
  // The published hashes of FNV-1a: e40c292c and bf9cf968.
  ['a', [0x12c, 0x00c]],
  ['foobar', [0x168, 0x19c]],
])('the bits of %s are halves of its hash', (token, bits) => {
  expect(signatureBits(token)).toEqual(bits);
});
