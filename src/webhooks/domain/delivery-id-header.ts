import { SIGNATURE_HEADERS } from './signatures/schemes.js';

/** RFC 9110, section 5.6.2: a token. */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** What is in these proves who sends: kept as the identity of a delivery, anybody who reads the log could send too. */
const CREDENTIALS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'api-key',
  'x-api-key',
  'x-auth-token',
  'x-access-token',
  'x-amz-security-token',
  'x-csrf-token',
  ...SIGNATURE_HEADERS,
]);

/** Why deliveries cannot be known by this header; undefined when they can. */
export function deliveryIdHeaderFault(name: string): string | undefined {
  if (!FIELD_NAME.test(name)) return "must be a header's name: 1 to 64 characters, of a token of RFC 9110";
  return CREDENTIALS.has(name.toLowerCase()) ? 'must not be a header that carries a credential' : undefined;
}
