/**
 * The harness-support calls that the runner makes, under `<server root>/v1`. Every call carries
 * `Authorization: Bearer <run key>`, `X-Warp-Cloud-Agent-ID: <run id>` and `X-Warp-Ambient-Workload-Token: <workload token>`.
 *
 * A 409 answer to any of them means that the execution is over (cancelled, or its lease was lost): stop the agent and exit.
 */

/** An MCP server that an agent starts (`command`) or calls (`url`). With neither it is one that another service keeps. */
export interface McpServer {
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  headers?: Record<string, string>;
}

/** `GET harness-support/execution`: everything that a runner needs to execute its run. */
export interface ExecutionView {
  run_id: string;
  execution_id: string;
  /** Set when the run continues a conversation. */
  conversation_id?: string;
  /** The built-in harness is `oz`. */
  harness: { type: 'oz' | 'claude' | 'gemini' | 'codex'; model_id: string; reasoning_level?: string };
  /** MCP servers that the agent is to have, by their names. */
  mcp_servers: Record<string, McpServer>;
  /** Added to the agent's environment: the secrets that it was granted. Their values are masked in whatever the runner uploads. */
  secrets: Record<string, string>;
  /** Secrets that the agent was granted and that do not exist (any more): the run cannot be executed. */
  missing_secrets: string[];
  /** What to set up before the agent begins; absent for a run without an environment. */
  environment?: {
    /** Cloned, shallow, from `{git_base_url}/{owner}/{repo}` into the workspace. */
    repositories: { owner: string; repo: string }[];
    git_base_url: string;
    /** For repositories below `git_base_url`, with any user name; the agent's own git commands have it too. */
    git_token?: string;
    /** Executed with bash in the workspace, in this order; the first that fails ends the run: `environment_setup_failed`. */
    setup_commands: string[];
  };
  /** The run's environment has been deleted: the run cannot be executed. */
  environment_missing: boolean;
  /** The files that the run was created with, for the workspace; the URLs need no key and expire. */
  attachments: { attachment_id: string; file_name: string; mime_type: string; download_url: string }[];
  /** How often `POST harness-support/heartbeat` is due; three missed ones lose the lease. */
  heartbeat_seconds: number;
  /** An agent that says nothing for this long is ended; 0 = never. */
  stall_minutes: number;
}

/** What an agent may say of itself when it asks for its prompt. */
export interface ResolvePromptRequest {
  /** A skill that it has read itself. */
  skill?: { name: string; content: string; path?: string };
  /** Where it has put the run's files. */
  attachments_dir?: string;
}

/** `POST harness-support/resolve-prompt`: the texts for the agent, sent as resumption, context and prompt, a blank line between. */
export interface ResolvedPrompt {
  prompt: string;
  system_prompt?: string;
  resumption_prompt?: string;
  context?: string;
}

/**
 * `GET harness-support/messages`: what has come since the prompt. It is the agent's once `POST harness-support/messages/delivered` has
 * said so; a runner that dies before that leaves it to the next execution.
 */
export interface WaitingMessages {
  messages: WaitingMessage[];
}

export interface WaitingMessage {
  message_id: string;
  message: string;
  mode?: 'normal' | 'plan' | 'orchestrate';
  subject?: string;
  sender_run_id?: string;
}

/** `POST harness-support/messages/delivered`: the agent is told these now. */
export interface DeliveredMessagesRequest {
  message_ids: string[];
}

/** `POST harness-support/external-conversation`. */
export interface ExternalConversationRequest {
  format: TranscriptFormat;
}

/** Formats of raw transcripts. `millwright_script` is the built-in harness's own. */
export const TRANSCRIPT_FORMATS = [
  'millwright_script',
  'claude_code_cli',
  'codex_cli',
  'gemini_cli',
] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** Where to put bytes. Without `fields` the body is sent raw with `headers`. */
export interface UploadTarget {
  url: string;
  method: 'PUT' | 'POST';
  headers: Record<string, string> | null;
  fields:
    | {
        name: string;
        value: { kind: 'static'; value: string } | { kind: 'content_crc32c' } | { kind: 'content_data' };
      }[]
    | null;
}

/** `POST harness-support/usage`: what the execution has used of models so far, in all; the last report counts. */
export interface UsageReport {
  /** Of every kind: input, cached input, output. */
  total_tokens: number;
  /** In US dollars, where the agent tells it. */
  cost_usd?: number;
}

/** `POST harness-support/finish-task`: the run's outcome, as the agent sees it. */
export interface FinishTaskRequest {
  success: boolean;
  summary: string;
}

/** `POST harness-support/report-setup-failure`: `session_debug_until` in the answer says until when the session is to be kept. */
export interface SetUpFailureRequest {
  message: string;
  session_retained?: boolean;
}

/** `POST harness-support/report-shutdown`: the last call. `category` may be an error code of a run's status message. */
export interface ReportShutdownRequest {
  error?: { category: string; message: string };
}

/** `POST agent/runs/{id}/client-events`: de-duplicated by `event_uuid`. */
export interface ClientEvent {
  event_uuid: string;
  event_name: string;
  timestamp: string;
  payload?: { start_ts?: string; finish_ts?: string; latency_ms?: number; is_error?: boolean };
}
