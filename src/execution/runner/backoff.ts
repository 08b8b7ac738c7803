/** Milliseconds between attempts, before jitter. */
export interface BackoffRange {
  firstMs: number;
  capMs: number;
}

/** `first`, twice that, four times that … up to `cap`. The first retry is number 0. */
export function exponentialDelayMs(retry: number, { firstMs, capMs }: BackoffRange): number {
  return Math.min(capMs, firstMs * 2 ** Math.min(retry, 30));
}

/**
 * Spreads a delay over its upper half, so that many clients of a server that came back do not all call at once.
 * `random` is from 0 (inclusive) to 1 (exclusive).
 */
export function withJitter(delayMs: number, random: number): number {
  return delayMs * (0.5 + random / 2);
}

/**
 * A Retry-After header (RFC 9110, 10.2.3) in milliseconds from `nowMs`: seconds or an HTTP date. Undefined when it is
 * absent or unreadable, 0 when the date has passed.
 */
export function parseRetryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Without this test Date.parse would read "-5" and "1.5" as years.
  if (!/^[A-Za-z]/.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
