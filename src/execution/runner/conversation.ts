import { setImmediate as afterThis } from 'node:timers/promises';
import type { UsageCounters } from '../protocol/cli-transcript.js';
import type { ExecutionView, ResolvedPrompt } from '../protocol/harness-support.js';
import { ExecutionOverError, type ControlPlane } from './control-plane.js';
import { DeclaredFiles } from './declared-files.js';
import type { Harness, HarnessOutcome, HarnessTurn } from './harness.js';
import type { Inbox } from './inbox.js';
import { pullRequestsIn } from './pull-requests.js';
import type { SecretMask } from './secret-mask.js';
import { TranscriptSaver } from './transcript-saver.js';

/** The safety net behind the events. */
const MESSAGE_POLL_MS = 5_000;

/** Takes the runner's notes for whoever reads the worker's log. */
export type Note = (text: string) => void;

/** The agent program, and what it works with in every turn. */
export interface Agent {
  harness: Harness;
  environment: Record<string, string>;
  mask: SecretMask;
}

/** What the steps of an execution have in common. */
export interface Assignment {
  view: ExecutionView;
  controlPlane: ControlPlane;
  inbox: Inbox;
  note: Note;
}

/**
 * The run's conversation while an execution goes on with it: the agent takes its turns here, each after those that were there before,
 * and what people say meanwhile is handed to it.
 */
export class Conversation {
  private used: UsageCounters | undefined;
  /** Taken from the server during a turn that ended before the agent could be told. */
  private untold: string | undefined;

  /** Set by the first turn. */
  private opened: { id: string; earlier: Buffer | undefined } | undefined;
  private readonly files: DeclaredFiles;

  constructor(
    private readonly assignment: Assignment,
    private readonly agent: Agent,
  ) {
    this.files = new DeclaredFiles(agent.mask);
  }

  async takeTurn(prompt: ResolvedPrompt): Promise<HarnessOutcome> {
    const { view, controlPlane } = this.assignment;
    const { harness, environment, mask } = this.agent;
    const { id, earlier } = (this.opened ??= await this.open());
    const stallMinutes = view.stall_minutes;
    const turn = harness.startTurn({ prompt, earlier, environment, mask, stallMinutes });
    const saver = new TranscriptSaver(controlPlane.withPatience(0), controlPlane, id, turn.transcript);
    const telling = this.tellWhatComes(turn);
    const outcome = await saver.saveDuring(turn.outcome);
    await telling;
    await this.saveLast(saver);
    await this.reportUsage(turn.usage);
    if (outcome.kind === 'finished') await this.reportPullRequests(outcome.summary);
    await this.keepFiles();
    this.opened = { id, earlier: await turn.transcript.bytes() };
    return outcome;
  }

  /** What the agent is told next; undefined when nothing waits. From here on it is this execution's: should it die, the run tells. */
  async takeMessages(): Promise<string | undefined> {
    const untold = this.untold;
    this.untold = undefined;
    if (untold !== undefined) return untold;
    const { controlPlane } = this.assignment;
    const messages = await controlPlane.waitingMessages();
    if (messages.length === 0) return undefined;
    await controlPlane.deliverMessages(messages.map(({ message_id: id }) => id));
    return messages.map(({ message }) => message).join('\n\n');
  }

  /** Resolves when there may be messages, or after the given time. */
  waitForMessages(withinMs = MESSAGE_POLL_MS): Promise<void> {
    return this.assignment.inbox.wait(Math.min(withinMs, MESSAGE_POLL_MS));
  }

  private async open(): Promise<{ id: string; earlier: Buffer | undefined }> {
    const { view, controlPlane } = this.assignment;
    const id = await controlPlane.openConversation(this.agent.harness.transcriptFormat);
    // A save replaces what is stored, so a continued conversation is carried along.
    const continues = view.conversation_id === id;
    return { id, earlier: continues ? await controlPlane.earlierTranscript() : undefined };
  }

  /** Until the turn ends, where the agent takes messages while it works. What fails here, the next turn makes up for. */
  private async tellWhatComes(turn: HarnessTurn): Promise<void> {
    const { tell } = turn;
    if (tell === undefined) return;
    const ended = new AbortController();
    const end = (): void => {
      ended.abort();
      this.assignment.inbox.ring();
    };
    turn.outcome.then(end, end);
    for (;;) {
      await this.waitForMessages();
      // Both may have rung.
      await afterThis();
      if (ended.signal.aborted) return;
      try {
        const message = await this.takeMessages();
        if (message !== undefined && !tell(message)) this.untold = message;
      } catch (error) {
        this.assignment.note(`Messages could not be fetched: ${messageOf(error)}`);
      }
    }
  }

  /** An outcome without its transcript is worth more than none. */
  private async saveLast(saver: TranscriptSaver): Promise<void> {
    try {
      await saver.saveFinally();
    } catch (error) {
      if (error instanceof ExecutionOverError) throw error;
      this.assignment.note(`The transcript could not be saved: ${messageOf(error)}`);
    }
  }

  /** The same of a pull request that nobody takes note of. */
  private async reportPullRequests(summary: string): Promise<void> {
    try {
      for (const data of await pullRequestsIn(summary)) {
        await this.assignment.controlPlane.report('report-artifact', { artifact_type: 'PULL_REQUEST', data });
      }
    } catch (error) {
      if (error instanceof ExecutionOverError && error.status === 409) throw error;
      this.assignment.note(`A pull request could not be reported: ${messageOf(error)}`);
    }
  }

  /** And of a file that cannot be kept. */
  private async keepFiles(): Promise<void> {
    try {
      for await (const { path, mimeType, bytes } of this.files.changed()) {
        await this.assignment.controlPlane.keepFile(path, mimeType, bytes);
      }
    } catch (error) {
      if (error instanceof ExecutionOverError && error.status === 409) throw error;
      this.assignment.note(`A file could not be kept: ${messageOf(error)}`);
    }
  }

  /** An outcome without its costs is worth more than none, too. */
  private async reportUsage(usage: UsageCounters | undefined): Promise<void> {
    if (usage === undefined) return;
    this.used = sumOf(this.used, usage);
    try {
      await this.assignment.controlPlane.reportUsage(this.used);
    } catch (error) {
      if (error instanceof ExecutionOverError && error.status === 409) throw error;
      this.assignment.note(`The usage could not be reported: ${messageOf(error)}`);
    }
  }
}

function sumOf(before: UsageCounters | undefined, usage: UsageCounters): UsageCounters {
  if (before === undefined) return usage;
  const cost = usage.cost_usd === undefined ? before.cost_usd : (before.cost_usd ?? 0) + usage.cost_usd;
  return {
    total_tokens: before.total_tokens + usage.total_tokens,
    ...(cost !== undefined && { cost_usd: cost }),
  };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
