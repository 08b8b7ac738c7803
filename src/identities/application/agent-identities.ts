import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import type { Queryable } from '../../kernel/persistence/database.js';
import type {
  CredentialStrategy,
  Harness,
  HarnessAuthSecrets,
  InferenceProviders,
  McpServer,
} from '../domain/agent-settings.js';
import { AgentRepository } from '../persistence/agent.repository.js';

/** What it takes to execute a run as an agent identity; undefined = the identity leaves it to the next configuration. */
export interface ExecutingAgent {
  uid: string;
  /** Within the team's plan; one that is not may not be used for runs. */
  available: boolean;
  prompt: string | undefined;
  environmentId: string | undefined;
  baseModel: string | undefined;
  harness: Harness | undefined;
  harnessAuthSecrets: HarnessAuthSecrets | undefined;
  /** Names of the team's secrets that its executions get. */
  secrets: string[];
  skills: string[];
  mcpServers: Record<string, McpServer> | undefined;
  workerHost: string | undefined;
  inferenceProviders: InferenceProviders | undefined;
  credentialStrategy: CredentialStrategy | undefined;
  onBehalfOfEnabled: boolean;
}

/** The agent identities, for whoever starts runs as them. */
@Injectable()
export class AgentIdentities {
  constructor(
    private readonly agents: AgentRepository,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param agentUid undefined = the team's default agent
   * @returns undefined when the team has no such agent
   */
  async find(database: Queryable, teamUid: string, agentUid?: string): Promise<ExecutingAgent | undefined> {
    const agent = await this.agents.find(database, teamUid, agentUid, this.config.teamMaxAgents);
    if (agent === undefined) return undefined;
    return {
      uid: agent.uid,
      available: agent.available,
      prompt: agent.prompt ?? undefined,
      environmentId: agent.environmentId ?? undefined,
      baseModel: agent.baseModel ?? undefined,
      harness: agent.harness ?? (agent.baseHarness === null ? undefined : { type: agent.baseHarness }),
      harnessAuthSecrets: agent.harnessAuthSecrets ?? undefined,
      secrets: agent.secrets,
      skills: agent.skills,
      mcpServers: agent.mcpServers ?? undefined,
      workerHost: agent.workerHost ?? undefined,
      inferenceProviders: agent.inferenceProviders ?? undefined,
      credentialStrategy: agent.credentialStrategy ?? undefined,
      onBehalfOfEnabled: agent.onBehalfOfEnabled,
    };
  }

  /** Those of them that are agents of the team. */
  existing(database: Queryable, teamUid: string, agentUids: string[]): Promise<Set<string>> {
    return this.agents.existing(database, teamUid, agentUids);
  }
}
