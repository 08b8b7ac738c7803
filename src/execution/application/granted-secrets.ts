import { Injectable } from '@nestjs/common';
import { Secrets } from '../../catalog/index.js';
import { AgentIdentities } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import { authVariable } from '../domain/auth-variable.js';
import type { ExecutionFacts } from '../../runs/index.js';

/**
 * The secrets that an execution gets: those that were granted to the agent identity which it is executed as, and nothing else. A run
 * that is executed as a person gets none, whatever its configuration names.
 */
@Injectable()
export class GrantedSecrets {
  constructor(
    private readonly agents: AgentIdentities,
    private readonly secrets: Secrets,
    private readonly database: Database,
  ) {}

  /** @returns the values by name, and the granted names that the team has no secret of */
  async of({
    teamUid,
    executorUid,
    agentConfig,
  }: ExecutionFacts): Promise<{ values: Record<string, string>; missing: string[] }> {
    if (teamUid === undefined) return { values: {}, missing: [] };
    const agent = await this.agents.find(this.database, teamUid, executorUid);
    if (agent === undefined) return { values: {}, missing: [] };
    const ofHarness = Object.values<string | undefined>({ ...agent.harnessAuthSecrets });
    const names = [...agent.secrets, ...ofHarness].filter((name) => name !== undefined);
    const { values, missing } = await this.secrets.values(this.database, teamUid, [...new Set(names)]);
    const auth = authVariable(agentConfig.harness?.type, agent.harnessAuthSecrets);
    if (auth === undefined) return { values, missing };
    const credential = values[auth.secret];
    if (credential === undefined) return { values, missing };
    return { values: { [auth.variable]: credential, ...values }, missing };
  }
}
