import { ClaudeTranscriptReader } from './claude-transcript-reader.js';
import { CodexTranscriptReader } from './codex-transcript-reader.js';
import type { Step } from './conversation.js';
import { GeminiTranscriptReader } from './gemini-transcript-reader.js';
import { ScriptTranscriptReader } from './script-transcript-reader.js';

/** Reads a raw transcript line by line; one is made for each transcript. */
export interface TranscriptReader {
  /** @param line without its line break. A line that cannot be read becomes an event, never an error. */
  read(line: string): void;
  steps(): Step[];
}

const READERS: Record<string, () => TranscriptReader> = {
  millwright_script: () => new ScriptTranscriptReader(),
  claude_code_cli: () => new ClaudeTranscriptReader(),
  codex_cli: () => new CodexTranscriptReader(),
  gemini_cli: () => new GeminiTranscriptReader(),
};

/** The reader for a transcript's format; undefined for a format that has no normal form. */
export const transcriptReader = (format: string): TranscriptReader | undefined =>
  Object.hasOwn(READERS, format) ? READERS[format]?.() : undefined;
