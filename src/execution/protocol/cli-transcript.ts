/**
 * The raw transcript of an agent CLI (`claude_code_cli`, `codex_cli`, `gemini_cli`): the JSON lines that it printed, as they were, and
 * between them lines of the runner, which alone have a `type` that begins with `millwright.`. Times are RFC 3339.
 */
export type RunnerLine =
  /** Before the first line of each turn. Not every CLI says what it was asked. */
  | { type: 'millwright.turn_started'; id: string; timestamp: string; prompt: string }
  /** The turn ended without the CLI's own word for it. */
  | { type: 'millwright.turn_aborted'; timestamp: string; message: string }
  /** In place of lines that were too long, or came when the transcript was full. */
  | { type: 'millwright.lines_dropped'; timestamp: string; bytes: number }
  | SessionLine;

/** Always the last line, and the only one of its kind: what the next execution needs to go on with the session elsewhere. */
export interface SessionLine {
  type: 'millwright.session';
  session_id: string;
  /** Where the session's cumulative counters stood. */
  counters: UsageCounters;
  /** The session's files, in the form that other runners of these CLIs store too. */
  envelope: object;
}

/** Counted over a whole session, or over what is said where they are used. */
export interface UsageCounters {
  /** Of every kind: input, cached input, output. */
  total_tokens: number;
  /** Only where the CLI tells it. */
  cost_usd?: number;
}

/** The beginning of a {@link SessionLine} as it is written: such a line can be large, and is recognised without being parsed. */
export const SESSION_LINE_START = '{"type":"millwright.session"';
