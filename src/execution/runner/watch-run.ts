import { setTimeout as sleep } from 'node:timers/promises';
import { exponentialDelayMs, withJitter } from './backoff.js';
import { ExecutionOverError, type ControlPlane } from './control-plane.js';
import type { Inbox } from './inbox.js';

const BACKOFF = { firstMs: 1_000, capMs: 30_000 };

/** What the watch needs of the server. */
export type WatchedPlane = Pick<ControlPlane, 'follow' | 'heartbeat'>;

/**
 * Follows the events of the run: messages ring the inbox, and a cancel stops the agent within a second also where no worker passes it on. Rejects with
 * ExecutionOverError when the execution is over; never resolves. Heartbeats alone would do, later: whatever fails here is tried again.
 */
export async function watchRun(
  controlPlane: WatchedPlane,
  inbox: Pick<Inbox, 'ring'>,
  wait: (ms: number) => Promise<unknown> = (ms) => sleep(ms),
): Promise<never> {
  let since = 0;
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const { type, sequence } of controlPlane.follow(since)) {
        failures = 0;
        since = sequence;
        if (type === 'new_message') inbox.ring();
        // It may be of an earlier execution: the server knows whether this one is meant.
        if (type === 'run_cancelled') await controlPlane.heartbeat();
      }
    } catch (error) {
      if (error instanceof ExecutionOverError && error.status === 409) throw error;
    }
    await wait(withJitter(exponentialDelayMs(failures, BACKOFF), Math.random()));
  }
}
