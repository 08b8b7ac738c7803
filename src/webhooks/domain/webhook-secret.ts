import { randomBytes, randomInt } from 'node:crypto';
import type { SignatureScheme } from './signature-scheme.js';
import { schemeOf } from './signatures/schemes.js';
import type { AuthMode } from './webhook.js';

/** What a webhook's secret is used for. */
export interface SecretUse {
  authMode: AuthMode;
  /** Exactly when the mode is `signature`. */
  signatureScheme: SignatureScheme | null;
}

/** In bytes of UTF-8. */
export const MAX_SECRET_BYTES = 1024;
const MIN_TOKEN_LENGTH = 8;
const RANDOM_BYTES = 32;
/** What every generated token begins with, for scanners of leaked secrets. */
const TOKEN_PREFIX = 'mwhs_';

/** RFC 3986, section 2.3: what stands in a path as it is. */
const URL_SAFE = /^[A-Za-z0-9._~-]+$/;
/** What can follow `Bearer` in a header. */
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** A new secret; undefined for providers that issue it themselves, or leave it to their users. */
export function generateSecret({ authMode, signatureScheme }: SecretUse): string | undefined {
  const random = randomBytes(RANDOM_BYTES);
  if (authMode !== 'signature') return TOKEN_PREFIX + random.toString('base64url');
  return signatureScheme === 'standard_webhooks' ? `whsec_${random.toString('base64')}` : undefined;
}

/** Why the value cannot be a secret of this use; undefined when it can. Never repeats the value. */
export function secretFault({ authMode, signatureScheme }: SecretUse, value: string): string | undefined {
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) return `must have at most ${MAX_SECRET_BYTES} bytes`;
  if (signatureScheme !== null) {
    const fits = schemeOf(signatureScheme, value).key(value) !== undefined;
    return fits ? undefined : 'must be whsec_ and 24 to 64 bytes in base64, or whpk_ and 32 bytes in base64';
  }
  if (value.length < MIN_TOKEN_LENGTH) return `must have at least ${MIN_TOKEN_LENGTH} characters`;
  if (authMode === 'url_token') {
    return URL_SAFE.test(value) ? undefined : 'must be URL-safe: of A-Z a-z 0-9 . _ ~ - alone';
  }
  return VISIBLE_ASCII.test(value) ? undefined : 'must be of visible ASCII characters without spaces';
}

const SUFFIX_ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
const MAX_NAME_PART = 100;

/** A name for the team's secret that a webhook makes: `WEBHOOK_<NAME>_<4 random characters>`. */
export function suggestedSecretName(webhookName: string): string {
  const part = webhookName
    .normalize('NFKD')
    .toUpperCase()
    .replace(/\p{Mn}/gu, '')
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
    .slice(0, MAX_NAME_PART);
  const suffix = Array.from({ length: 4 }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]).join('');
  return ['WEBHOOK', ...(part === '' ? [] : [part]), suffix].join('_');
}
