/** What a run's configuration and an agent identity have in common, in the form in which clients write it and it is stored. */

/** `oz`, or none, is the built-in harness. */
export const HARNESS_TYPES = ['oz', 'claude', 'gemini', 'codex'] as const;
export type HarnessType = (typeof HARNESS_TYPES)[number];

export interface Harness {
  type?: HarnessType;
  model_id?: string;
  reasoning_level?: string;
}

/** Names of the secrets that the agent CLIs authenticate with. */
export interface HarnessAuthSecrets {
  claude_auth_secret_name?: string;
  codex_auth_secret_name?: string;
}

/** Exactly one of `warp_id`, `command` and `url` is set. */
export interface McpServer {
  warp_id?: string;
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  headers?: Record<string, string>;
}

export interface MemoryStore {
  uid: string;
  access: 'read_write' | 'read_only';
  instructions: string;
}

export interface InferenceProviders {
  aws?: { disabled?: boolean; region?: string; role_arn?: string };
}

/** Whose credentials the agent uses: the run's creator's or its executor's. */
export const CREDENTIAL_STRATEGIES = ['CREATOR', 'EXECUTOR'] as const;
export type CredentialStrategy = (typeof CREDENTIAL_STRATEGIES)[number];
