import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Refusal } from '../domain/environment-view.js';
import { EnvironmentShareRepository } from '../persistence/environment-share.repository.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';

/** Ends a share, for a link with all the visits by which it counted. For the environment's owners. */
@Injectable()
export class RevokeEnvironmentShare {
  constructor(
    private readonly shares: EnvironmentShareRepository,
    private readonly environments: EnvironmentReadModel,
  ) {}

  /** `not_found` also for an owner, where the environment has no such share. */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    environmentUid: string,
    uid: string,
  ): Promise<{ outcome: 'revoked' } | Refusal> {
    if (await this.shares.delete(tx, caller, environmentUid, uid)) return { outcome: 'revoked' };
    const known = await this.environments.find(tx, caller, environmentUid);
    return { outcome: known?.access === 'guest' ? 'guests_only_use' : 'not_found' };
  }
}
