import { StateMachine } from '../../kernel/state-machine.js';

/** The states of a run, by the names on the wire. */
export type RunState =
  /** Waits for a worker. */
  | 'QUEUED'
  /** Sent to a worker that has not claimed it yet. */
  | 'PENDING'
  /** A worker has taken it and launches its runner. */
  | 'CLAIMED'
  /** Its agent works. */
  | 'INPROGRESS'
  | 'SUCCEEDED'
  /** Ended for a reason that is the user's to fix. */
  | 'FAILED'
  /** Waits for a person; a follow-up continues it. */
  | 'BLOCKED'
  /** Ended for a reason that is the platform's to fix. */
  | 'ERROR'
  | 'CANCELLED';

/** What can happen to a run's state. */
export type RunEvent =
  'assign' | 'claim' | 'requeue' | 'begin' | 'succeed' | 'fail' | 'block' | 'error' | 'cancel' | 'continue';

const TARGETS: Record<RunEvent, RunState> = {
  assign: 'PENDING',
  claim: 'CLAIMED',
  requeue: 'QUEUED',
  begin: 'INPROGRESS',
  succeed: 'SUCCEEDED',
  fail: 'FAILED',
  block: 'BLOCKED',
  error: 'ERROR',
  cancel: 'CANCELLED',
  continue: 'QUEUED',
};

const OUTCOMES = ['succeed', 'fail', 'block', 'error'] as const satisfies RunEvent[];

const ACCEPTED: Record<RunState, readonly RunEvent[]> = {
  // `begin` and the outcomes: for the runs alone that their creators execute and that nobody assigns.
  QUEUED: ['assign', 'cancel', 'begin', ...OUTCOMES],
  // `begin` and the outcomes: the worker's claim may be lost on its way while the runner already reports.
  PENDING: ['claim', 'requeue', 'begin', ...OUTCOMES],
  CLAIMED: ['begin', ...OUTCOMES, 'cancel'],
  INPROGRESS: [...OUTCOMES, 'cancel'],
  // A follow-up resumes the conversation in a new execution.
  SUCCEEDED: ['continue'],
  FAILED: ['continue'],
  BLOCKED: ['continue'],
  ERROR: ['continue'],
  CANCELLED: ['continue'],
};

/** The one table of all transitions of a run; every statement that changes a state takes its guard from here. */
export const RUN_STATE_MACHINE = new StateMachine(TARGETS, ACCEPTED);

const TERMINAL: ReadonlySet<RunState> = new Set(['SUCCEEDED', 'FAILED', 'BLOCKED', 'ERROR', 'CANCELLED']);

export const isTerminal = (state: RunState): boolean => TERMINAL.has(state);
