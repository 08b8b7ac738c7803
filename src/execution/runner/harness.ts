import type { ResolvedPrompt, TranscriptFormat } from '../protocol/harness-support.js';
import type { UsageCounters } from '../protocol/cli-transcript.js';
import type { SecretMask } from './secret-mask.js';
import type { Transcript } from './transcript.js';

/** Error codes of a run's status message that a runner reports. */
export type ShutdownCategory = 'integration_not_configured' | 'agent_process_failed';

export type HarnessOutcome =
  /** The agent ended and says how it went. */
  | { kind: 'finished'; success: boolean; summary: string }
  /** The agent could not do its work at all. */
  | { kind: 'errored'; category: ShutdownCategory; message: string };

/**
 * A turn of an agent, of which an execution has one for its prompt and one for what comes meanwhile: what it writes goes to the transcript
 * while `outcome` is pending.
 */
export interface HarnessTurn {
  transcript: Transcript;
  outcome: Promise<HarnessOutcome>;
  /** What it has used of a model so far; undefined for an agent without one. */
  readonly usage: UsageCounters | undefined;
  /** Of an agent that takes messages while it works: gives it one. False when it is too late for that. */
  tell?: (message: string) => boolean;
}

/** What a turn works with. */
export interface TurnInput {
  prompt: ResolvedPrompt;
  /** The transcript of the conversation that the run continues, if it does. */
  earlier: Buffer | undefined;
  /** Added to the runner's own environment for the agent. */
  environment: Record<string, string>;
  /** For whatever is written down of the turn. */
  mask: SecretMask;
  /** An agent that says nothing for this long is given up; 0 = never. */
  stallMinutes: number;
}

/** Drives one kind of agent. */
export interface Harness {
  transcriptFormat: TranscriptFormat;
  /**
   * Readies what the agent program finds in place, before the set-up commands run.
   *
   * @param environment what will be added to the runner's own for the agent
   * @returns variables to add to it, for the set-up commands too
   */
  prepare(environment: Record<string, string>): Promise<Record<string, string>>;
  startTurn(input: TurnInput): HarnessTurn;
}
