import { decodeBase64, decodeHex } from './encoding.js';

/** More signatures than this in one header are refused: each of them costs a comparison. */
export const MAX_SIGNATURES = 10;

/** What a signature header says. */
export interface SignatureHeader {
  /** The signatures by their version; a scheme without versions has one of the version `''`. */
  signatures: { version: string; bytes: Buffer }[];
  /** Where the header itself carries the signed time: the digits that were sent. */
  timestamp?: string;
}

/** Reads a header's value; undefined when it is not of the grammar. */
export type Grammar = (value: string) => SignatureHeader | undefined;
type Decode = (text: string) => Buffer | undefined;

export const hex =
  (bytes: number): Decode =>
  (text) =>
    decodeHex(text, bytes);

export const base64 =
  (bytes: number): Decode =>
  (text) => {
    const decoded = decodeBase64(text);
    return decoded?.length === bytes ? decoded : undefined;
  };

/** The value itself, as it was sent (Node reads headers as Latin-1). */
export const verbatim: Decode = (text) => (text === '' ? undefined : Buffer.from(text, 'latin1'));

/** One signature behind a fixed prefix, such as `sha256=<hex>`. */
export const single =
  (prefix: string, decode: Decode): Grammar =>
  (value) => {
    if (!value.startsWith(prefix)) return undefined;
    const bytes = decode(value.slice(prefix.length));
    return bytes && { signatures: [{ version: '', bytes }] };
  };

/**
 * A list of versioned signatures, such as `t=<seconds>,v1=<hex>,v0=<hex>`. Versions that are not known are skipped, whatever they
 * look like: that is how providers bring in new ones.
 *
 * @param versions how the signatures of each known version are written
 * @param timestamp the key of the signed time, which then has to be there once
 */
export const list =
  (options: {
    separator: string;
    assignment: string;
    versions: Record<string, Decode>;
    timestamp?: string;
  }): Grammar =>
  (value) => {
    const { separator, assignment, versions, timestamp: timestampKey } = options;
    const elements = value.split(separator, MAX_SIGNATURES + 2);
    const header: SignatureHeader = { signatures: [] };
    for (const element of elements) {
      const at = element.indexOf(assignment);
      const key = element.slice(0, at);
      const text = element.slice(at + assignment.length);
      if (at < 0) return undefined;
      if (key === timestampKey) {
        if (header.timestamp !== undefined) return undefined;
        header.timestamp = text;
      } else if (Object.hasOwn(versions, key)) {
        const bytes = versions[key]?.(text);
        if (bytes === undefined) return undefined;
        header.signatures.push({ version: key, bytes });
      } else if (!/^v\d{1,3}[a-z]?$/.test(key)) {
        return undefined;
      }
    }
    const signatures = elements.length - (header.timestamp === undefined ? 0 : 1);
    if (signatures > MAX_SIGNATURES || header.signatures.length === 0) return undefined;
    if (timestampKey !== undefined && header.timestamp === undefined) return undefined;
    return header;
  };
