import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { ApiKeyView } from '../domain/api-key.js';
import type { UserCaller } from '../domain/caller.js';
import { ApiKeyRepository } from '../persistence/api-key.repository.js';

/** The caller's own keys and those of the agent identities of the team that they act for. */
@Injectable()
export class ListApiKeys {
  constructor(
    private readonly apiKeys: ApiKeyRepository,
    private readonly database: Database,
  ) {}

  execute(caller: UserCaller): Promise<ApiKeyView[]> {
    return this.apiKeys.list(this.database, { userUid: caller.uid, teamUid: caller.team?.uid ?? null });
  }
}
