import { hash, timingSafeEqual } from 'node:crypto';
import { onlyValue, type RequestHeaders } from './request-headers.js';

/** What is stored of a bearer or URL token: the 32 bytes of its SHA-256. */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer');

/** Compares by hash, in constant time: neither the token's content nor its length can be measured. */
export const matchesToken = (token: string, expectedHash: Buffer): boolean =>
  expectedHash.length === 32 && timingSafeEqual(hashToken(token), expectedHash);

/** The token of the one header `Authorization: Bearer …` (RFC 6750, section 2.1; the scheme in any case). */
export function bearerTokenOf(headers: RequestHeaders): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(onlyValue(headers, 'authorization') ?? '')?.[1];
}
