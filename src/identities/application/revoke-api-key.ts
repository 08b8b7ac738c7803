import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import type { UserCaller } from '../domain/caller.js';
import { ApiKeyRepository } from '../persistence/api-key.repository.js';
import { Authenticate } from './authenticate.js';

/** Deletes a key of the caller, or of an agent identity of the team that they act for. */
@Injectable()
export class RevokeApiKey {
  constructor(
    private readonly apiKeys: ApiKeyRepository,
    private readonly authenticate: Authenticate,
  ) {}

  /** @returns whether there was such a key that the caller may know of */
  async execute(tx: Tx, caller: UserCaller, keyUid: string): Promise<boolean> {
    tx.afterCommit(() => {
      this.authenticate.forget();
    });
    return this.apiKeys.delete(tx, { userUid: caller.uid, teamUid: caller.team?.uid ?? null }, keyUid);
  }
}
