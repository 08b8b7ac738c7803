import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import type { RunMode } from '../domain/run-mode.js';
import { type FollowUpVerdict, RunMessageRepository } from '../persistence/run-message.repository.js';
import { runVisibility } from './run-visibility.js';

export type FollowUpOutcome = FollowUpVerdict | 'not_found';

/**
 * Sends a message to a run, of whatever type and in whatever state: one that waits gets it with its prompt, one that works as its
 * agent's next message, and one that has ended is queued again for an execution that resumes its conversation.
 */
@Injectable()
export class FollowUpRun {
  constructor(
    private readonly messages: RunMessageRepository,
    private readonly signals: Signals,
  ) {}

  async execute(
    tx: Tx,
    caller: AccountCaller,
    runId: string,
    { message, mode }: { message?: string; mode?: RunMode },
  ): Promise<FollowUpOutcome> {
    const added = await this.messages.add(tx, runId, runVisibility(caller), {
      message: message ?? '',
      mode: mode ?? null,
      authorUid: caller.uid,
    });
    if (added?.continued) {
      tx.afterCommit(() => {
        this.signals.send('run_queued', null);
      });
    }
    return added?.verdict ?? 'not_found';
  }
}
