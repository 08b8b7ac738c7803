import { parseRetryAfterMs } from './backoff.js';
import type { Attempt } from './retry.js';

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT';
  url: URL;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** For the whole exchange, the answer's body included. */
  timeoutMs: number;
}

export interface HttpAnswer {
  status: number;
  headers: Headers;
  body: Buffer;
}

/**
 * Sends a request once. A server that cannot be reached, does not answer in time or answers 408, 429 or 5xx is a
 * reason to try again; every other answer is handed to the caller. Redirects are not followed: the credentials in the
 * headers are for this server alone.
 */
export async function exchange(request: HttpRequest): Promise<Attempt<HttpAnswer>> {
  const { method, url, headers, body, timeoutMs } = request;
  const what = `${method} ${url.origin}${url.pathname}`;
  try {
    const response = await fetch(url, {
      method,
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer = {
      status: response.status,
      headers: response.headers,
      body: Buffer.from(await response.arrayBuffer()),
    };
    if (!isTransient(answer.status)) return { kind: 'done', value: answer };
    return {
      kind: 'again',
      why: `${what}: answered ${answer.status}`,
      retryAfterMs: parseRetryAfterMs(response.headers.get('retry-after'), Date.now()),
    };
  } catch (error) {
    return { kind: 'again', why: `${what}: ${describeTransportError(error)}` };
  }
}

function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/** `fetch` hides the system's error (ECONNREFUSED and the like) in `cause`. */
function describeTransportError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return error.message;
}
