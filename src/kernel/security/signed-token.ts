import type { Keyring, KeyPurpose } from './keyring.js';

/** `base64url(JSON).signature`: readable by anybody, made by us alone. Put no secret in it. */
export function signToken(keyring: Keyring, purpose: KeyPurpose, content: unknown): string {
  const body = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${body}.${keyring.sign(purpose, body)}`;
}

/** The content of a token that we signed for this purpose; undefined for anything else. */
export function readToken(keyring: Keyring, purpose: KeyPurpose, token: string): unknown {
  const [body, signature, ...rest] = token.split('.');
  if (body === undefined || signature === undefined || rest.length > 0) return undefined;
  if (!keyring.verify(purpose, body, signature)) return undefined;
  return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
}
