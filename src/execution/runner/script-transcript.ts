import { randomUUID } from 'node:crypto';
import type { ScriptTranscriptLine } from '../protocol/script-transcript.js';
import type { CapturedOutput } from './capped-output.js';
import { Transcript } from './transcript.js';

/** Where times and ids come from. */
export interface TranscriptSources {
  now(): Date;
  newId(): string;
}

const SYSTEM_SOURCES: TranscriptSources = { now: () => new Date(), newId: () => randomUUID() };

/** Writes what the script harness does, line by line, as it happens. */
export class ScriptTranscript extends Transcript {
  /** @param mask removes the values of secrets from a text */
  constructor(
    earlier: Buffer | undefined,
    private readonly mask: (text: string) => string,
    private readonly sources: TranscriptSources = SYSTEM_SOURCES,
  ) {
    super(earlier);
  }

  userMessage(text: string): void {
    this.write({
      type: 'user_message',
      id: this.sources.newId(),
      timestamp: this.timestamp(),
      text: this.mask(text),
    });
  }

  /** Returns the id that the command's two lines share. */
  commandStarted(command: string): string {
    const id = this.sources.newId();
    this.write({ type: 'command_started', id, timestamp: this.timestamp(), command: this.mask(command) });
    return id;
  }

  commandFinished(id: string, exitCode: number, { text, truncatedBytes }: CapturedOutput): void {
    this.write({
      type: 'command_finished',
      id,
      timestamp: this.timestamp(),
      output: this.mask(text),
      truncated_bytes: truncatedBytes,
      exit_code: exitCode,
    });
  }

  assistantMessage(text: string): void {
    this.write({
      type: 'assistant_message',
      id: this.sources.newId(),
      timestamp: this.timestamp(),
      text: this.mask(text),
    });
  }

  turnCompleted(success: boolean, durationMs: number): void {
    this.write({
      type: 'turn_completed',
      timestamp: this.timestamp(),
      success,
      duration_ms: Math.round(durationMs),
    });
  }

  private write(line: ScriptTranscriptLine): void {
    this.append(line);
  }

  private timestamp(): string {
    return this.sources.now().toISOString();
  }
}
