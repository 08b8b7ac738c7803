import type { Step } from './conversation.js';
import { ScriptTranscriptReader } from './script-transcript-reader.js';

/** Reads a raw transcript line by line; one is made for each transcript. */
export interface TranscriptReader {
  /** @param line without its line break. A line that cannot be read becomes an event, never an error. */
  read(line: string): void;
  steps(): Step[];
}

const READERS: Record<string, () => TranscriptReader> = {
  millwright_script: () => new ScriptTranscriptReader(),
};

/** The reader for a transcript's format; undefined for a format that has no normal form. */
export const transcriptReader = (format: string): TranscriptReader | undefined =>
  Object.hasOwn(READERS, format) ? READERS[format]?.() : undefined;
