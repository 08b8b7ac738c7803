/**
 * The raw transcript of the script harness (`millwright_script`): JSON lines, in the order in which things happened.
 * Times are RFC 3339.
 */
export type ScriptTranscriptLine =
  | { type: 'user_message'; id: string; timestamp: string; text: string }
  | { type: 'command_started'; id: string; timestamp: string; command: string }
  | {
      type: 'command_finished';
      id: string;
      timestamp: string;
      /** Standard output and standard error, interleaved as written; cut in the middle beyond the cap. */
      output: string;
      /** Bytes of output that the cap dropped. */
      truncated_bytes: number;
      /** 128 + n when signal n ended the command. */
      exit_code: number;
    }
  | { type: 'assistant_message'; id: string; timestamp: string; text: string }
  | { type: 'turn_completed'; timestamp: string; success: boolean; duration_ms: number };
