import type {
  CredentialStrategy,
  Harness,
  HarnessAuthSecrets,
  InferenceProviders,
  McpServer,
  MemoryStore,
} from '../../identities/index.js';

export type { HarnessType } from '../../identities/index.js';

/** The harness of a configuration that names none. */
export const BUILT_IN_HARNESS = 'oz';

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
  harness_auth_secrets?: HarnessAuthSecrets;
  session_sharing?: { public_access?: 'VIEWER' | 'EDITOR' };
  memory_stores?: MemoryStore[];
  inference_providers?: InferenceProviders;
  credential_strategy?: CredentialStrategy | null;
}

/**
 * Resolves the configuration field by field: of the given ones the first that sets a field decides it. `skill_spec` and `skills`
 * are one decision.
 *
 * @param candidates the most specific first
 */
export function resolveAgentConfig(candidates: (AgentConfig | undefined)[]): AgentConfig {
  const resolved: AgentConfig = {};
  for (const candidate of candidates) {
    const skillsAreDecided = resolved.skill_spec !== undefined || resolved.skills !== undefined;
    for (const [field, value] of Object.entries<unknown>({ ...candidate })) {
      if (value === undefined || Object.hasOwn(resolved, field)) continue;
      if (skillsAreDecided && (field === 'skill_spec' || field === 'skills')) continue;
      Object.assign(resolved, { [field]: value });
    }
  }
  return resolved;
}

/** The self-hosted worker that is to execute the run; null for the hosted pool. */
export function workerHostOf(config: AgentConfig): string | null {
  const host = config.worker_host ?? '';
  return host === '' || host === 'warp' ? null : host;
}
