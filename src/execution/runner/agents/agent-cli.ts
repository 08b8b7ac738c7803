import type { McpServer, ResolvedPrompt, TranscriptFormat } from '../../protocol/harness-support.js';
import type { UsageCounters } from '../../protocol/cli-transcript.js';
import type { JsonObject } from './json-line.js';

/** What the runner has to know of a command line agent to drive it: everything else is the same for all of them. */
export interface AgentCli {
  /** Looked for in PATH. */
  command: string;
  /** For whoever has to install it. */
  installation: string;
  transcriptFormat: TranscriptFormat;
  /** The variable that names the directory of its settings and sessions. */
  homeVariable: string;
  /** It goes on taking messages from its standard input while it works, until that ends. */
  takesMessages: boolean;
  /**
   * Readies the home. Whatever set-up commands put there afterwards counts.
   *
   * @param environment what the CLI will have in its environment
   * @returns variables to add to it
   */
  prepare(home: string, environment: NodeJS.ProcessEnv): Promise<Record<string, string>>;
  /** How a turn is begun. The prompt goes to the standard input: arguments can be read by every user of the machine. */
  launch(turn: TurnLaunch): Promise<{ arguments: string[]; input: string }>;
  /** A message, as the standard input takes it. */
  message(text: string): string;
  /** @param before the session's counters so far */
  startReader(before: UsageCounters): StreamReader;
  /** The session's files; undefined when there are none. */
  saveSession(place: SessionPlace): Promise<object | undefined>;
  /** Puts a session of another place here. @param envelope what {@link saveSession} returned there */
  restoreSession(place: SessionPlace, envelope: JsonObject): Promise<void>;
}

/** What a run asks of its agent program. */
export interface AgentSettings {
  /** Empty: the CLI's own default. */
  model: string;
  /** In the CLI's own words; undefined: its default. One that knows no levels has no use for it. */
  reasoningLevel: string | undefined;
  /** By their names, each with a command or a URL. They may hold credentials, so they go into files, not into arguments. */
  mcpServers: Record<string, McpServer>;
}

export interface TurnLaunch extends AgentSettings {
  home: string;
  /** The working directory, which goes with the execution. */
  cwd: string;
  sessionId: string;
  /** The session has been going on; else it is to be begun. */
  resumes: boolean;
  prompt: ResolvedPrompt;
}

export interface SessionPlace {
  home: string;
  /** The working directory. */
  cwd: string;
  sessionId: string;
}

/** How a turn went, by the CLI's own word. */
export interface TurnResult {
  success: boolean;
  summary: string;
}

/** Follows the stream of one turn. */
export interface StreamReader {
  /** A line that means nothing to it is passed over. */
  read(line: JsonObject): void;
  /** Set once the CLI has named it. */
  readonly sessionId: string | undefined;
  /** Set once the CLI has said how the turn went. */
  readonly result: TurnResult | undefined;
  /** What the CLI complained of last; for a turn without a result. */
  readonly complaint: string | undefined;
  /** Messages that it has taken from its standard input, where it says so. */
  readonly messagesTaken: number;
  /** Of this turn alone. */
  readonly usage: UsageCounters;
  /** Of the session, as the CLI counts. */
  readonly counters: UsageCounters;
}

/** The prompt as one text. @param withSystemPrompt for a CLI that takes it no other way */
export function promptText(
  prompt: ResolvedPrompt,
  { withSystemPrompt }: { withSystemPrompt: boolean },
): string {
  const { system_prompt: system, resumption_prompt: resumption, context } = prompt;
  return [withSystemPrompt ? system : undefined, resumption, context, prompt.prompt]
    .filter(Boolean)
    .join('\n\n');
}
