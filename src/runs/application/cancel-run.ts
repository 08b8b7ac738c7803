import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { UNCANCELLABLE_SOURCES } from '../domain/run-source.js';
import { isTerminal, type RunState } from '../domain/run-state.js';
import { RunTransitions } from '../persistence/run-transitions.js';
import { runVisibility } from './run-visibility.js';

export type CancelOutcome =
  | { outcome: 'cancelled' }
  | { outcome: 'not_found' }
  /** A run that this service does not execute itself. Judged before the state. */
  | { outcome: 'unsupported_type' }
  | { outcome: 'already_ended'; state: RunState }
  /** Sent to a worker that has not answered yet: it may or may not start, so there is nothing to cancel for the moment. */
  | { outcome: 'pending' };

/** Cancels a queued or working run: at once for whoever reads it; its worker is told to stop. */
@Injectable()
export class CancelRun {
  constructor(
    private readonly transitions: RunTransitions,
    private readonly signals: Signals,
  ) {}

  async execute(tx: Tx, caller: AccountCaller, runId: string): Promise<CancelOutcome> {
    const cancel = await this.transitions.cancel(
      tx,
      runId,
      runVisibility(caller),
      UNCANCELLABLE_SOURCES,
      caller.uid,
    );
    if (cancel === undefined) return { outcome: 'not_found' };
    const { stopping } = cancel;
    if (stopping !== undefined) {
      tx.afterCommit(() => {
        this.signals.send('execution_stop', stopping);
      });
    }
    if (cancel.cancelled) return { outcome: 'cancelled' };
    if (!cancel.cancellableType) return { outcome: 'unsupported_type' };
    if (isTerminal(cancel.was)) return { outcome: 'already_ended', state: cancel.was };
    return { outcome: 'pending' };
  }
}
