import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** What every key begins with; clients and secret scanners know it. */
const FIXED_PREFIX = 'wk-';
const PREFIX_LENGTH = FIXED_PREFIX.length + 8;
/** 6 bytes are the 8 characters that are kept readable; 32 bytes (256 bits) are kept nowhere. */
const RANDOM_BYTES = 6 + 32;

export interface NewApiKey {
  /** The key itself: given to its owner once, kept nowhere. */
  key: string;
  prefix: string;
  lastFour: string;
  hash: Buffer;
}

/** What may be shown of a key. */
export interface ApiKeyView {
  uid: string;
  name: string;
  prefix: string;
  lastFour: string;
  /** A user or an agent identity. */
  ownerUid: string;
  ownerName: string;
  ownerEmail: string | null;
  /** The team of the agent identity; null for a user's key. */
  teamUid: string | null;
  operator: boolean;
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
}

export const newApiKey = (): NewApiKey =>
  describeApiKey(FIXED_PREFIX + randomBytes(RANDOM_BYTES).toString('base64url'));

/** What is stored of a key. A fast hash is right here: a key is random, so there is nothing to guess. */
export const describeApiKey = (key: string): NewApiKey => ({
  key,
  prefix: apiKeyPrefix(key),
  lastFour: key.slice(-4),
  hash: hashOf(key),
});

export const apiKeyPrefix = (key: string): string => key.slice(0, PREFIX_LENGTH);

/** Compares in constant time. */
export const matchesHash = (key: string, hash: Buffer): boolean => timingSafeEqual(hashOf(key), hash);

const hashOf = (key: string): Buffer => createHash('sha256').update(key).digest();
