import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

/** An agent identity that a factory's definition has made. */
export interface FactoryAgent {
  /** Of its file. */
  name: string;
  agentUid: string;
}

/** Which agent identities come from the definition of a factory. */
@Injectable()
export class FactoryAgentRepository {
  list(database: Queryable, factoryUid: string): Promise<FactoryAgent[]> {
    return database.query<FactoryAgent>(
      'SELECT name, agent_uid AS "agentUid" FROM factory_agents WHERE factory_uid = $1 ORDER BY name',
      [factoryUid],
    );
  }

  async insert(tx: Tx, factoryUid: string, { name, agentUid }: FactoryAgent): Promise<void> {
    await tx.query('INSERT INTO factory_agents (factory_uid, name, agent_uid) VALUES ($1, $2, $3)', [
      factoryUid,
      name,
      agentUid,
    ]);
  }
}
