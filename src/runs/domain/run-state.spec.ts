import { describe, expect, it } from '@jest/globals';
import { isTerminal, RUN_STATE_MACHINE, type RunEvent, type RunState } from './run-state.js';

/** Written a second time on purpose: state → event → the state after, for every pair that is accepted. */
const EXPECTED: Record<RunState, Partial<Record<RunEvent, RunState>>> = {
  QUEUED: {
    assign: 'PENDING',
    cancel: 'CANCELLED',
    begin: 'INPROGRESS',
    succeed: 'SUCCEEDED',
    fail: 'FAILED',
    block: 'BLOCKED',
    error: 'ERROR',
  },
  PENDING: {
    claim: 'CLAIMED',
    requeue: 'QUEUED',
    begin: 'INPROGRESS',
    succeed: 'SUCCEEDED',
    fail: 'FAILED',
    block: 'BLOCKED',
    error: 'ERROR',
  },
  CLAIMED: {
    begin: 'INPROGRESS',
    succeed: 'SUCCEEDED',
    fail: 'FAILED',
    block: 'BLOCKED',
    error: 'ERROR',
    cancel: 'CANCELLED',
  },
  INPROGRESS: { succeed: 'SUCCEEDED', fail: 'FAILED', block: 'BLOCKED', error: 'ERROR', cancel: 'CANCELLED' },
  SUCCEEDED: { continue: 'QUEUED' },
  FAILED: { continue: 'QUEUED' },
  BLOCKED: { continue: 'QUEUED' },
  ERROR: { continue: 'QUEUED' },
  CANCELLED: { continue: 'QUEUED' },
};

describe('the state machine of a run', () => {
  const pairs = RUN_STATE_MACHINE.states.flatMap((state) =>
    RUN_STATE_MACHINE.events.map((event) => ({ state, event })),
  );

  it.each(pairs)('$state × $event', ({ state, event }) => {
    const after = EXPECTED[state][event];
    expect(RUN_STATE_MACHINE.accepts(state, event)).toBe(after !== undefined);
    expect(RUN_STATE_MACHINE.sources(event).includes(state)).toBe(after !== undefined);
    if (after !== undefined) expect(RUN_STATE_MACHINE.target(event)).toBe(after);
  });

  it('leaves a terminal state by a continuation alone', () => {
    for (const state of RUN_STATE_MACHINE.states) {
      const events = RUN_STATE_MACHINE.events.filter((event) => RUN_STATE_MACHINE.accepts(state, event));
      expect(events.length === 1 && events[0] === 'continue').toBe(isTerminal(state));
    }
  });

  it('never cancels a PENDING run', () => {
    expect(RUN_STATE_MACHINE.sources('cancel')).toEqual(['QUEUED', 'CLAIMED', 'INPROGRESS']);
  });
});
