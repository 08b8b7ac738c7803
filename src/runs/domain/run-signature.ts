const BITS = 512;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A Bloom filter of 64 bytes over the tokens and words of a run, small enough for each entry of an index: a run whose signature lacks a
 * bit of a token does not have the token, and need not be read. With 65 tokens one in twenty that lack it looks as if it had it.
 */
export function signatureOf(tokens: string[]): Buffer {
  const signature = Buffer.alloc(BITS / 8);
  for (const bit of tokens.flatMap(signatureBits)) {
    signature[bit >> 3] = (signature[bit >> 3] ?? 0) | (1 << (bit & 7));
  }
  return signature;
}

/** The bits of a token, as PostgreSQL's `get_bit(bytea, n)` counts them: the two halves of its FNV-1a hash. */
export function signatureBits(token: string): [number, number] {
  let hash = FNV_OFFSET;
  for (const byte of Buffer.from(token)) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return [hash & (BITS - 1), (hash >>> 16) & (BITS - 1)];
}
