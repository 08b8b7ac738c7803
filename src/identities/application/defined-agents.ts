import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { AgentIdentity, AgentSettings } from '../domain/agent-identity.js';
import { MAX_LIST_ROWS } from '../domain/limits.js';
import { AgentRepository } from '../persistence/agent.repository.js';

/** The agent identities of a team, for definitions that make and change them. */
@Injectable()
export class DefinedAgents {
  constructor(
    private readonly agents: AgentRepository,
    private readonly config: AppConfig,
  ) {}

  /** The oldest first. */
  list(database: Queryable, teamUid: string): Promise<AgentIdentity[]> {
    return this.agents.list(database, teamUid, this.config.teamMaxAgents);
  }

  /** @returns its uid; undefined when the team has as many agents as its plan, or a list, allows */
  create(
    tx: Tx,
    teamUid: string,
    settings: Partial<AgentSettings> & { name: string },
  ): Promise<string | undefined> {
    return this.agents.insert(tx, teamUid, settings, this.config.teamMaxAgents || MAX_LIST_ROWS);
  }

  /** Gives the agent other settings, and makes it available again if it was disabled. */
  async update(tx: Tx, teamUid: string, agentUid: string, settings: Partial<AgentSettings>): Promise<void> {
    await this.agents.update(tx, teamUid, agentUid, settings);
    await this.agents.setDisabled(tx, teamUid, agentUid, false);
  }

  /** From now on no run is executed as it. */
  disable(tx: Tx, teamUid: string, agentUid: string): Promise<void> {
    return this.agents.setDisabled(tx, teamUid, agentUid, true);
  }
}
