import { SECOND } from '../../../kernel/clock.js';
import { MAX_ID_LENGTH, onlyValue, type RequestHeaders } from '../request-headers.js';
import type { SignatureScheme } from '../signature-scheme.js';
import { type HeaderSet, type Scheme, schemeOf } from './schemes.js';
import type { SigningKey } from './signing-key.js';

const SECONDS = /^\d{1,12}$/;
const MILLISECONDS = /^\d{1,15}$/;

/** What the headers of a request claim: it is authentic if its signatures fit the bytes of its body. */
export interface SignatureClaim {
  /** The delivery's signed id, where the scheme has it in a header. */
  readonly signedId: string | undefined;
  /** Whether the exact bytes received are what was signed, at a time that is close enough. */
  fits(body: Buffer): boolean;
}

/** Checks the signatures of one webhook, in two steps, so that a request without a good claim is refused before its body is read. */
export interface SignatureVerifier {
  readonly scheme: Scheme;
  /**
   * @param now milliseconds since 1970
   * @returns undefined when the headers are missing, doubled, malformed or out of time
   */
  claimOf(headers: RequestHeaders, now: number): SignatureClaim | undefined;
}

/** @returns undefined when the secret cannot be a key of this scheme */
export function createVerifier(name: SignatureScheme, secret: string): SignatureVerifier | undefined {
  const scheme = schemeOf(name, secret);
  const key = scheme.key(secret);
  return key && { scheme, claimOf: (headers, now) => claimOf(scheme, key, headers, now) };
}

function claimOf(
  scheme: Scheme,
  key: SigningKey,
  headers: RequestHeaders,
  now: number,
): SignatureClaim | undefined {
  const set = scheme.headers.find((candidate) => isWhole(candidate, headers));
  if (set === undefined) return undefined;
  const header = scheme.grammar(onlyValue(headers, set.signature) ?? '');
  if (header === undefined) return undefined;
  const timestamp = header.timestamp ?? (set.timestamp && onlyValue(headers, set.timestamp)) ?? '';
  const { windowSeconds } = scheme;
  if (windowSeconds !== undefined && !isWithin(windowSeconds, timestamp, now)) return undefined;
  const id = set.id && onlyValue(headers, set.id);
  if (set.id !== undefined && (!id || id.length > MAX_ID_LENGTH)) return undefined;
  const signatures = header.signatures.flatMap(({ version, bytes }) =>
    version === key.version ? [bytes] : [],
  );
  if (signatures.length === 0) return undefined;
  const prefix = scheme.prefix?.({ timestamp, id: id ?? '' }) ?? '';
  return {
    signedId: id,
    fits: (body) => key.matches(signatures, prefix, body) && bodyIsInTime(scheme, body, now),
  };
}

const isWhole = (set: HeaderSet, headers: RequestHeaders): boolean =>
  [set.signature, set.timestamp, set.id].every(
    (name) => name === undefined || onlyValue(headers, name) !== undefined,
  );

/** Ages are whole seconds, as the providers' own libraries count them. */
const isWithin = (windowSeconds: number, seconds: string, now: number): boolean =>
  SECONDS.test(seconds) && Math.abs(Math.floor(now / SECOND) - Number(seconds)) <= windowSeconds;

/** A body that is no JSON has no time; it is refused for that afterwards. */
function bodyIsInTime({ bodyTime }: Scheme, body: Buffer, now: number): boolean {
  if (bodyTime === undefined) return true;
  let content: unknown;
  try {
    content = JSON.parse(body.toString());
  } catch {
    return true;
  }
  const time = ownField(content, bodyTime.field);
  return (
    typeof time === 'number' &&
    MILLISECONDS.test(String(time)) &&
    Math.abs(now - time) <= bodyTime.windowSeconds * SECOND
  );
}

/** A field of a JSON object; never an inherited one. */
export function ownField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
