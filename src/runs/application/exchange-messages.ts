import { Injectable } from '@nestjs/common';
import type { Caller, RunCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { RunMessageView } from '../domain/run-message-view.js';
import { RunMail } from '../persistence/run-mail.js';
import { RunMessageRepository } from '../persistence/run-message.repository.js';
import { runVisibility } from './run-visibility.js';

export type SendOutcome =
  | { outcome: 'sent'; messageIds: string[] }
  /** Not a run of the sender's tree. */
  | { outcome: 'unknown_recipient'; runId: string }
  | { outcome: 'too_many'; runId: string };

/** Messages between the agents of one tree of runs, and what became of them. */
@Injectable()
export class ExchangeMessages {
  constructor(
    private readonly mail: RunMail,
    private readonly messages: RunMessageRepository,
  ) {}

  /** Undefined for a run that the caller may not know of. */
  list(
    caller: Caller,
    runId: string,
    filter: { unread: boolean; since: Date | undefined; limit: number },
  ): Promise<RunMessageView[] | undefined> {
    return this.mail.list(runId, runVisibility(caller), filter);
  }

  /** Sends the same to several runs, to all of them or to none: an outcome other than `sent` is to undo the transaction. */
  async send(
    tx: Tx,
    sender: RunCaller,
    { to, subject, body }: { to: string[]; subject: string; body: string },
  ): Promise<SendOutcome> {
    const ids = new Map<string, string>();
    // In one order for all senders: nobody waits for somebody who waits for them.
    for (const runId of [...new Set(to)].sort()) {
      const added = await this.messages.addFromRun(tx, runId, {
        senderRunId: sender.runId,
        subject,
        message: body,
      });
      if (added === undefined) return { outcome: 'unknown_recipient', runId };
      if (added.verdict === 'too_many') return { outcome: 'too_many', runId };
      ids.set(runId, added.id);
    }
    return { outcome: 'sent', messageIds: to.flatMap((runId) => ids.get(runId) ?? []) };
  }

  /** The recipient's agent has been told. */
  async deliver(
    tx: Tx,
    recipient: RunCaller,
    messageId: string,
  ): Promise<'delivered' | 'not_found' | 'not_waiting'> {
    if (!(await this.mail.exists(tx, recipient.runId, messageId))) return 'not_found';
    return (await this.messages.deliver(tx, recipient, [messageId])) ? 'delivered' : 'not_waiting';
  }

  /** The recipient's agent asks for the text; undefined when its run has no such message. */
  read(
    tx: Tx,
    recipient: RunCaller,
    messageId: string,
  ): Promise<(RunMessageView & { message: string }) | undefined> {
    return this.mail.read(tx, recipient.runId, messageId);
  }
}
