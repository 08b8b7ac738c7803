import type {
  CredentialStrategy,
  Harness,
  HarnessAuthSecrets,
  HarnessType,
  InferenceProviders,
  McpServer,
  MemoryStore,
} from './agent-settings.js';

/** What an agent identity remembers from run to run. */
export interface AgentMemory {
  auto_memory: { enabled: boolean };
  attached_stores: MemoryStore[];
}

export const NO_MEMORY: AgentMemory = { auto_memory: { enabled: false }, attached_stores: [] };

/** What people set of an agent identity; null = not set. */
export interface AgentSettings {
  name: string;
  description: string | null;
  /** Stands before the prompt of every run. */
  prompt: string | null;
  environmentId: string | null;
  baseModel: string | null;
  baseHarness: HarnessType | null;
  harness: Harness | null;
  harnessAuthSecrets: HarnessAuthSecrets | null;
  /** Names of the team's secrets that its executions get. */
  secrets: string[];
  skills: string[];
  mcpServers: Record<string, McpServer> | null;
  memory: AgentMemory;
  inferenceProviders: InferenceProviders | null;
  credentialStrategy: CredentialStrategy | null;
  defaultRunnerUid: string;
  onBehalfOfEnabled: boolean;
  workerHost: string | null;
}

/** A team's service account, and how the runs that are executed as it are configured. */
export interface AgentIdentity extends AgentSettings {
  uid: string;
  isDefault: boolean;
  /** By the definition that it came from, which has it no more. */
  disabled: boolean;
  /** It is one of the team's oldest, as many as the plan allows, and may be used for runs. */
  available: boolean;
  createdAt: Date;
  updatedAt: Date;
}
