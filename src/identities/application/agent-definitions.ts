import type { Tx } from '../../kernel/persistence/database.js';

/** What identities needs of definitions. A port of this context, which automations implements: automations imports identities, never the reverse. */
export abstract class AgentDefinitions {
  /** Whether the files of a repository define the agent of the team. It stays so until the transaction ends. */
  abstract isOfRepository(tx: Tx, teamUid: string, agentUid: string): Promise<boolean>;
}
