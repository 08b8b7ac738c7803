import { Injectable } from '@nestjs/common';
import { Clock } from '../../kernel/clock.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { type ApiKeyView, newApiKey } from '../domain/api-key.js';
import type { UserCaller } from '../domain/caller.js';
import { MAX_LIST_ROWS } from '../domain/limits.js';
import { ApiKeyRepository } from '../persistence/api-key.repository.js';

export interface ApiKeyRequest {
  name: string;
  expiresAt?: Date;
  /** The agent identity whose key it is to be; undefined = the caller's own. */
  agentUid?: string;
  /** It is to administer the installation, as the caller's key does. */
  operator?: boolean;
}

export type CreateApiKeyOutcome =
  | { outcome: 'created'; apiKey: ApiKeyView; key: string }
  | { outcome: 'expired_already' }
  /** Only an operator's key makes another. */
  | { outcome: 'not_an_operator' }
  /** The team that the caller acts for has no such agent, or they act for none. */
  | { outcome: 'no_such_agent' }
  | { outcome: 'full' };

/** Makes an API key of the caller, or of an agent identity of the team that they act for. */
@Injectable()
export class CreateApiKey {
  constructor(
    private readonly apiKeys: ApiKeyRepository,
    private readonly clock: Clock,
  ) {}

  async execute(tx: Tx, caller: UserCaller, request: ApiKeyRequest): Promise<CreateApiKeyOutcome> {
    const { name, expiresAt, agentUid, operator = false } = request;
    if (operator && !caller.operator) return { outcome: 'not_an_operator' };
    if (expiresAt !== undefined && expiresAt <= this.clock.now()) return { outcome: 'expired_already' };
    const teamUid = caller.team?.uid;
    const key = newApiKey();
    let keyUid: string | undefined;
    if (agentUid === undefined) {
      if ((await this.apiKeys.lockAndCountOfUser(tx, caller.uid)) >= MAX_LIST_ROWS)
        return { outcome: 'full' };
      keyUid = await this.apiKeys.insertForUser(tx, key, { userUid: caller.uid, name, operator, expiresAt });
    } else {
      if (teamUid === undefined) return { outcome: 'no_such_agent' };
      if ((await this.apiKeys.lockAndCountOfAgents(tx, teamUid)) >= MAX_LIST_ROWS) return { outcome: 'full' };
      keyUid = await this.apiKeys.insertForAgent(tx, key, { teamUid, agentUid, name, expiresAt });
      if (keyUid === undefined) return { outcome: 'no_such_agent' };
    }
    const of = { userUid: caller.uid, teamUid: teamUid ?? null };
    const [apiKey] = await this.apiKeys.list(tx, of, keyUid);
    if (apiKey === undefined) throw new Error('the API key that was just made cannot be read');
    return { outcome: 'created', apiKey, key: key.key };
  }
}
