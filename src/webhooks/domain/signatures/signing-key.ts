import { createHmac, createPublicKey, createSecretKey, hash, timingSafeEqual, verify } from 'node:crypto';
import { decodeBase64 } from './encoding.js';

/** What signatures are checked with. */
export interface SigningKey {
  /** Signatures of other versions are not looked at. */
  readonly version: string;
  /** Whether one of the signatures fits: constant time for each. The prefix is text of headers, one byte a character. */
  matches(signatures: readonly Buffer[], prefix: string, body: Buffer): boolean;
}

/** Makes the key of a secret; undefined when the secret cannot be one, and then nothing is ever accepted. */
export type KeyMaker = (secret: string) => SigningKey | undefined;

const equal = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);

function hmacKey(algorithm: 'sha1' | 'sha256', version: string, bytes: Buffer): SigningKey | undefined {
  if (bytes.length === 0) return undefined;
  const key = createSecretKey(bytes);
  return {
    version,
    matches: (signatures, prefix, body) => {
      const mac = createHmac(algorithm, key);
      if (prefix !== '') mac.update(prefix, 'latin1');
      const expected = mac.update(body).digest();
      // All are compared, so that the time does not tell which one fits.
      return signatures.reduce((fits, signature) => equal(expected, signature) || fits, false);
    },
  };
}

/** HMAC under the secret's UTF-8 bytes, exactly as it was given. */
export const hmac =
  (algorithm: 'sha1' | 'sha256', version = ''): KeyMaker =>
  (secret) =>
    hmacKey(algorithm, version, Buffer.from(secret));

const ED25519_KEY_BYTES = 32;
const MIN_HMAC_KEY_BYTES = 24;
const MAX_HMAC_KEY_BYTES = 64;

/**
 * The keys of Standard Webhooks: `whsec_` (or no prefix) and 24 to 64 bytes in base64 for HMAC-SHA256, `whpk_` and 32 bytes in base64
 * for Ed25519.
 */
export const standardWebhooksKey: KeyMaker = (secret) => {
  if (secret.startsWith('whpk_')) {
    const raw = decodeBase64(secret.slice('whpk_'.length));
    return raw?.length === ED25519_KEY_BYTES ? ed25519Key('v1a', raw) : undefined;
  }
  const bytes = decodeBase64(secret.replace(/^whsec_/, ''));
  if (bytes === undefined || bytes.length < MIN_HMAC_KEY_BYTES || bytes.length > MAX_HMAC_KEY_BYTES) {
    return undefined;
  }
  return hmacKey('sha256', 'v1', bytes);
};

function ed25519Key(version: string, raw: Buffer): SigningKey {
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
    format: 'jwk',
  });
  return {
    version,
    matches: (signatures, prefix, body) => {
      const content = Buffer.concat([Buffer.from(prefix, 'latin1'), body]);
      return signatures.some((signature) => verify(null, content, key, signature));
    },
  };
}

/** No signature but the secret itself, compared by its hash: that the body is as it was sent is not known. */
export const comparison: KeyMaker = (secret) => {
  if (secret === '') return undefined;
  const expected = hash('sha256', secret, 'buffer');
  return {
    version: '',
    matches: (values) => values.some((value) => equal(expected, hash('sha256', value, 'buffer'))),
  };
};
