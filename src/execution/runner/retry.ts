import { exponentialDelayMs, withJitter, type BackoffRange } from './backoff.js';

/** What one attempt came to: an answer, or a reason to try again. Errors that are thrown are never retried. */
export type Attempt<T> = { kind: 'done'; value: T } | { kind: 'again'; why: string; retryAfterMs?: number };

export interface RetryPolicy {
  /** How long after its start a call may still be tried again; 0 means a single attempt. */
  patienceMs: number;
  backoff: BackoffRange;
}

/** Time and chance, as the retry loop sees them. */
export interface RetryClock {
  /** Monotonic, in milliseconds. */
  now(): number;
  sleep(ms: number): Promise<void>;
  random(): number;
}

/** Nothing conclusive came back for as long as the caller was ready to wait. */
export class GaveUpError extends Error {}

/**
 * Repeats `attempt` until it is done. The wait is exponential with jitter, or what the server asked for when that is
 * longer; it is cut so that the last attempt falls on the end of the patience.
 */
export async function retry<T>(
  attempt: () => Promise<Attempt<T>>,
  policy: RetryPolicy,
  clock: RetryClock,
): Promise<T> {
  const deadline = clock.now() + policy.patienceMs;
  for (let retries = 0; ; retries += 1) {
    const outcome = await attempt();
    if (outcome.kind === 'done') return outcome.value;
    const leftMs = deadline - clock.now();
    if (leftMs <= 0) throw new GaveUpError(outcome.why);
    const delayMs = withJitter(exponentialDelayMs(retries, policy.backoff), clock.random());
    await clock.sleep(Math.min(leftMs, Math.max(delayMs, outcome.retryAfterMs ?? 0)));
  }
}
