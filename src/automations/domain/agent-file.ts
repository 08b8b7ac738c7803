import type { AgentIdentity, AgentSettings } from '../../identities/index.js';
import type { AgentFile } from './definition.js';
import { asInFile } from './file-prompt.js';

/** The settings of an agent identity that a file decides; what it leaves out is not set. */
export const settingsOf = (file: AgentFile): Partial<AgentSettings> & { name: string } => ({
  name: file.name,
  description: file.description ?? null,
  prompt: file.prompt === '' ? null : file.prompt,
  environmentId: file.environment_id ?? null,
  baseModel: file.base_model ?? null,
  baseHarness: null,
  harness: file.harness ?? null,
  harnessAuthSecrets: file.harness_auth_secrets ?? null,
  secrets: file.secrets,
  skills: file.skills,
  mcpServers: file.mcp_servers ?? null,
  inferenceProviders: file.inference_providers ?? null,
  credentialStrategy: file.credential_strategy ?? null,
  workerHost: file.worker_host ?? null,
});

/** @param name of the file, which the agent may have lost since by the API */
export const fileOf = (agent: AgentIdentity, name: string): AgentFile => ({
  name,
  description: agent.description ?? undefined,
  prompt: asInFile(agent.prompt ?? ''),
  environment_id: agent.environmentId ?? undefined,
  base_model: agent.baseModel ?? undefined,
  harness: agent.harness ?? (agent.baseHarness === null ? undefined : { type: agent.baseHarness }),
  harness_auth_secrets: agent.harnessAuthSecrets ?? undefined,
  secrets: agent.secrets,
  skills: agent.skills,
  mcp_servers: agent.mcpServers ?? undefined,
  inference_providers: agent.inferenceProviders ?? undefined,
  credential_strategy: agent.credentialStrategy ?? undefined,
  worker_host: agent.workerHost ?? undefined,
});
