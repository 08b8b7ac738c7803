import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import type { UserCaller } from '../domain/caller.js';
import { activeTeamOf } from '../domain/ownership.js';
import { AgentRepository } from '../persistence/agent.repository.js';
import { Authenticate } from './authenticate.js';

/** `is_default`: a team always keeps its default agent. */
export type DeleteAgentOutcome = 'deleted' | 'not_found' | 'is_default';

/** Deletes an agent identity of the team that the caller acts for, together with all its API keys. */
@Injectable()
export class DeleteAgent {
  constructor(
    private readonly agents: AgentRepository,
    private readonly authenticate: Authenticate,
  ) {}

  execute(tx: Tx, caller: UserCaller, agentUid: string): Promise<DeleteAgentOutcome> {
    tx.afterCommit(() => {
      this.authenticate.forget();
    });
    return this.agents.delete(tx, activeTeamOf(caller), agentUid);
  }
}
