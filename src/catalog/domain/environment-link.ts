import { createHash, randomBytes } from 'node:crypto';

const RANDOM_BYTES = 32;

/** A new token of a link, 256 bits in base64url: shown once, kept nowhere. */
export const newLinkToken = (): string => randomBytes(RANDOM_BYTES).toString('base64url');

/**
 * SHA-256 of a token. A fast hash is right, since a token is random; and finding a token by its hash gives the time of a comparison
 * away for the hash alone, from which nothing follows about the token.
 */
export const hashOfLinkToken = (token: string): Buffer => createHash('sha256').update(token).digest();
