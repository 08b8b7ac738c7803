import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import { Database } from '../../kernel/persistence/database.js';
import type { AgentIdentity } from '../domain/agent-identity.js';
import type { AccountCaller } from '../domain/caller.js';
import { activeTeamOf } from '../domain/ownership.js';
import { AgentRepository } from '../persistence/agent.repository.js';

/** The agent identities of the team that the caller acts for. */
@Injectable()
export class ReadAgents {
  constructor(
    private readonly agents: AgentRepository,
    private readonly database: Database,
    private readonly config: AppConfig,
  ) {}

  /** The oldest first. */
  list(caller: AccountCaller): Promise<AgentIdentity[]> {
    return this.agents.list(this.database, activeTeamOf(caller), this.config.teamMaxAgents);
  }

  /** @returns undefined when the team has no such agent */
  find(caller: AccountCaller, agentUid: string): Promise<AgentIdentity | undefined> {
    return this.agents.find(this.database, activeTeamOf(caller), agentUid, this.config.teamMaxAgents);
  }
}
