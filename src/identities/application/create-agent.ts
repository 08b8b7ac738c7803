import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { AgentIdentity, AgentSettings } from '../domain/agent-identity.js';
import type { UserCaller } from '../domain/caller.js';
import { MAX_LIST_ROWS } from '../domain/limits.js';
import { activeTeamOf } from '../domain/ownership.js';
import { AgentRepository } from '../persistence/agent.repository.js';

/** Makes an agent identity of the team that the caller acts for. */
@Injectable()
export class CreateAgent {
  constructor(
    private readonly agents: AgentRepository,
    private readonly config: AppConfig,
  ) {}

  /** @returns undefined when the team has as many agents as its plan, or a list, allows */
  async execute(
    tx: Tx,
    caller: UserCaller,
    settings: Partial<AgentSettings> & { name: string },
  ): Promise<AgentIdentity | undefined> {
    const teamUid = activeTeamOf(caller);
    const { teamMaxAgents } = this.config;
    const agentUid = await this.agents.insert(tx, teamUid, settings, teamMaxAgents || MAX_LIST_ROWS);
    return agentUid === undefined ? undefined : this.agents.find(tx, teamUid, agentUid, teamMaxAgents);
  }
}
