import { MINUTE, SECOND } from '../../kernel/clock.js';

/** Keys that are counted at most. When there are more, those whose minute ends first begin a new one. */
export const BUDGET_CAPACITY = 100_000;

/** What a key has left of its minute, the request that asks included. */
export interface BudgetState {
  limit: number;
  remaining: number;
  /** Until a new minute begins; at least 1. */
  resetSeconds: number;
  /** This request is one too many. */
  exceeded: boolean;
}

interface Window {
  startedAt: number;
  used: number;
}

/**
 * How many requests each API key may make in a minute, in this process. The minute begins with the key's first request.
 *
 * It counts uids of keys that were found, so a flood of wrong keys is neither counted nor remembered. It waits for nothing, which
 * is why it is not express-rate-limit: that one's chain of promises cost more than all the rest of the guard (20 of 30 µs a
 * request, `npm run bench:auth`), and it lives by the wall clock, which can be set back.
 */
export class RequestBudget {
  /** In the order in which the windows began. */
  private readonly windows = new Map<string, Window>();

  /** @param now monotonic milliseconds */
  constructor(
    private readonly requestsPerMinute: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts one request of the key. */
  spend(keyUid: string): BudgetState {
    const now = this.now();
    const window = this.windowOf(keyUid, now);
    window.used += 1;
    return {
      limit: this.requestsPerMinute,
      remaining: Math.max(this.requestsPerMinute - window.used, 0),
      resetSeconds: Math.ceil((window.startedAt + MINUTE - now) / SECOND),
      exceeded: window.used > this.requestsPerMinute,
    };
  }

  private windowOf(keyUid: string, now: number): Window {
    const current = this.windows.get(keyUid);
    if (current !== undefined && now - current.startedAt < MINUTE) return current;
    const window = { startedAt: now, used: 0 };
    this.windows.delete(keyUid);
    this.windows.set(keyUid, window);
    for (const [uid, { startedAt }] of this.windows) {
      if (now - startedAt < MINUTE && this.windows.size <= BUDGET_CAPACITY) break;
      this.windows.delete(uid);
    }
    return window;
  }
}
