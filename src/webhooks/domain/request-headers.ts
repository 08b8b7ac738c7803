/**
 * The headers of a request by their lower-case names, each occurrence by itself, as Node's `IncomingMessage.headersDistinct` has
 * them: a header that was sent twice must be told from one whose value has a comma in it.
 */
export type RequestHeaders = Readonly<Record<string, readonly string[] | undefined>>;

/** An id of a delivery is at most this many characters. */
export const MAX_ID_LENGTH = 256;

/** The header's value when it occurs exactly once. */
export function onlyValue(headers: RequestHeaders, name: string): string | undefined {
  const values = headers[name];
  return values?.length === 1 ? values[0] : undefined;
}
