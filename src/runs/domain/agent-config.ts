/** How an agent is to run: what is asked for, and, once every field is resolved, what is stored with the run. */
export interface AgentConfig {
  name?: string;
  model_id?: string;
  base_prompt?: string;
  environment_id?: string;
  runner_id?: string;
  skill_spec?: string;
  skills?: string[];
  mcp_servers?: Record<string, McpServer>;
  computer_use_enabled?: boolean;
  computer_use_model_id?: string;
  idle_timeout_minutes?: number;
  worker_host?: string;
  harness?: Harness;
  harness_auth_secrets?: { claude_auth_secret_name?: string; codex_auth_secret_name?: string };
  session_sharing?: { public_access?: 'VIEWER' | 'EDITOR' };
  memory_stores?: { uid: string; access: 'read_write' | 'read_only'; instructions: string }[];
  inference_providers?: { aws?: { disabled?: boolean; region?: string; role_arn?: string } };
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | null;
}

/** `oz`, or none, is the built-in harness. */
export const HARNESS_TYPES = ['oz', 'claude', 'gemini', 'codex'] as const;
export type HarnessType = (typeof HARNESS_TYPES)[number];

export interface Harness {
  type?: HarnessType;
  model_id?: string;
  reasoning_level?: string;
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

/** The model of a fresh installation: executes the fenced bash blocks of the prompt; needs no network and no key. */
export const SCRIPT_MODEL = 'script';

const SYSTEM_DEFAULTS: AgentConfig = { model_id: SCRIPT_MODEL, harness: { type: 'oz' } };

/**
 * Resolves the configuration field by field: of the given ones the first that sets a field decides it, then the system's default.
 *
 * @param candidates the most specific first
 */
export function resolveAgentConfig(candidates: (AgentConfig | undefined)[]): AgentConfig {
  const resolved: AgentConfig = {};
  for (const candidate of [...candidates, SYSTEM_DEFAULTS]) {
    for (const [field, value] of Object.entries<unknown>({ ...candidate })) {
      if (value !== undefined && !Object.hasOwn(resolved, field)) Object.assign(resolved, { [field]: value });
    }
  }
  return resolved;
}

/** The self-hosted worker that is to execute the run; null for the hosted pool. */
export function workerHostOf(config: AgentConfig): string | null {
  const host = config.worker_host ?? '';
  return host === '' || host === 'warp' ? null : host;
}
