import type { ResolvedPrompt, TranscriptFormat } from '../protocol/harness-support.js';
import type { Transcript } from './transcript.js';

/** Error codes of a run's status message that a runner reports. */
export type ShutdownCategory = 'integration_not_configured' | 'agent_process_failed';

export type HarnessOutcome =
  /** The agent ended and says how it went. */
  | { kind: 'finished'; success: boolean; summary: string }
  /** The agent could not do its work at all. */
  | { kind: 'errored'; category: ShutdownCategory; message: string };

/** A turn of an agent: what it writes goes to the transcript while `outcome` is pending. */
export interface HarnessTurn {
  transcript: Transcript;
  outcome: Promise<HarnessOutcome>;
}

/** Drives one kind of agent. */
export interface Harness {
  transcriptFormat: TranscriptFormat;
  /** `earlier` is the transcript of the conversation that the run continues, if it does. */
  startTurn(prompt: ResolvedPrompt, earlier: Buffer | undefined): HarnessTurn;
}
