import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer } from './api-client.js';
import type { Run } from './answers.js';
import { FailedError, isPassing } from './errors.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const GROWTH = 1.5;

const TERMINAL_STATES = ['SUCCEEDED', 'FAILED', 'ERROR', 'BLOCKED', 'CANCELLED'];

/** Milliseconds to wait before the n-th look at a run, n from 1. */
export const pauseBefore = (look: number): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * GROWTH ** (look - 1));

export const isTerminal = (state: string): boolean => TERMINAL_STATES.includes(state);

/**
 * Reads a run until it has ended, less and less often. A service that is away for a while is waited for, too.
 *
 * @param read one look at the run
 * @param onState is told each state that the run is seen in, once
 * @throws FailedError when it has not ended in time, or what the last look threw; the run goes on
 */
export async function waitForRun(
  read: () => Promise<Answer<Run>>,
  options: { timeoutMs: number; onState: (state: string) => void },
): Promise<Answer<Run>> {
  const deadline = performance.now() + options.timeoutMs;
  let seen: string | undefined;
  for (let look = 1; ; look += 1) {
    const left = deadline - performance.now();
    await sleep(Math.max(0, Math.min(pauseBefore(look), left)));
    const isLast = performance.now() >= deadline;
    try {
      const answer = await read();
      const { state } = answer.body;
      if (state !== seen) options.onState(state);
      seen = state;
      if (isTerminal(state)) return answer;
      if (isLast) throw new FailedError(`The run has not ended in time: it is ${state}, and goes on.`);
    } catch (error) {
      if (isLast || !isPassing(error)) throw error;
    }
  }
}
