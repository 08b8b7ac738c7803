import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import { Problem } from '../../kernel/errors/problem.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { AgentIdentity, AgentSettings } from '../domain/agent-identity.js';
import type { UserCaller } from '../domain/caller.js';
import { activeTeamOf } from '../domain/ownership.js';
import { AgentRepository } from '../persistence/agent.repository.js';
import { AgentDefinitions } from './agent-definitions.js';
import { Authenticate } from './authenticate.js';

/** Changes an agent identity of the team that the caller acts for. */
@Injectable()
export class UpdateAgent {
  constructor(
    private readonly agents: AgentRepository,
    private readonly definitions: AgentDefinitions,
    private readonly authenticate: Authenticate,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param settings undefined leaves a setting as it is
   * @returns undefined when the team has no such agent
   * @throws Problem 409 when a repository defines it
   */
  async execute(
    tx: Tx,
    caller: UserCaller,
    agentUid: string,
    settings: Partial<AgentSettings>,
  ): Promise<AgentIdentity | undefined> {
    const teamUid = activeTeamOf(caller);
    if (await this.definitions.isOfRepository(tx, teamUid, agentUid)) {
      throw new Problem('conflict', {
        detail:
          'The agent identity is defined by a repository: change the files there and apply them, as what is changed here would be undone',
        retryable: false,
      });
    }
    if (!(await this.agents.update(tx, teamUid, agentUid, settings))) return undefined;
    tx.afterCommit(() => {
      this.authenticate.forget();
    });
    return this.agents.find(tx, teamUid, agentUid, this.config.teamMaxAgents);
  }
}
