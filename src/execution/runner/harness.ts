import type { ResolvedPrompt, TranscriptFormat } from '../protocol/harness-support.js';
import type { SecretMask } from './secret-mask.js';
import type { Transcript } from './transcript.js';

/** Error codes of a run's status message that a runner reports. */
export type ShutdownCategory = 'integration_not_configured' | 'agent_process_failed';

export type HarnessOutcome =
  /** The agent ended and says how it went. */
  | { kind: 'finished'; success: boolean; summary: string }
  /** The agent could not do its work at all. */
  | { kind: 'errored'; category: ShutdownCategory; message: string };

/** A turn of an agent, of which an execution has one for its prompt and one for what comes meanwhile: what it writes goes to the transcript while `outcome` is pending. */
export interface HarnessTurn {
  transcript: Transcript;
  outcome: Promise<HarnessOutcome>;
}

/** What a turn works with. */
export interface TurnInput {
  prompt: ResolvedPrompt;
  /** The transcript of the conversation that the run continues, if it does. */
  earlier: Buffer | undefined;
  /** Added to the agent's environment. */
  environment: Record<string, string>;
  /** For whatever is written down of the turn. */
  mask: SecretMask;
}

/** Drives one kind of agent. */
export interface Harness {
  transcriptFormat: TranscriptFormat;
  startTurn(input: TurnInput): HarnessTurn;
}
