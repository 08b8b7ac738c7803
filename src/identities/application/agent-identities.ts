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
import type { AgentIdentity } from '../domain/agent-identity.js';
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
    const [agent] = await this.findAll(database, [{ teamUid, agentUid }]);
    return agent;
  }

  /**
   * One query, however many they are.
   *
   * @param wanted `agentUid` undefined = the team's default agent; undefined = none is wanted
   * @returns in their order
   */
  async findAll(
    database: Queryable,
    wanted: ({ teamUid: string; agentUid?: string } | undefined)[],
  ): Promise<(ExecutingAgent | undefined)[]> {
    const asked = wanted.flatMap((one, index) => (one === undefined ? [] : [{ ...one, index }]));
    if (asked.length === 0) return wanted.map(() => undefined);
    const found = await this.agents.findAll(
      database,
      asked.map(({ teamUid, agentUid }) => ({ teamUid, agentUid })),
      this.config.teamMaxAgents,
    );
    const agents = new Map(asked.map(({ index }, place) => [index, found[place]]));
    return wanted.map((_, index) => toExecutingAgent(agents.get(index)));
  }

  /** Those of them that are agents of the team. */
  existing(database: Queryable, teamUid: string, agentUids: string[]): Promise<Set<string>> {
    return this.agents.existing(database, teamUid, agentUids);
  }
}

function toExecutingAgent(agent: AgentIdentity | undefined): ExecutingAgent | undefined {
  return (
    agent && {
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
    }
  );
}
