import { Injectable } from '@nestjs/common';
import { AgentDefinitions } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';

/** What identities needs of definitions. */
@Injectable()
export class FactoryAgentDefinitions extends AgentDefinitions {
  override async isOfRepository(tx: Tx, teamUid: string, agentUid: string): Promise<boolean> {
    const factories = await tx.query<{ mode: string }>(
      `SELECT f.mode FROM factory_agents a JOIN factories f ON f.uid = a.factory_uid
        WHERE a.agent_uid = $1 AND f.team_uid = $2 FOR SHARE OF f`,
      [agentUid, teamUid],
    );
    return factories.some(({ mode }) => mode === 'repository');
  }
}
