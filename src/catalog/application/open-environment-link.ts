import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { hashOfLinkToken } from '../domain/environment-link.js';
import type { EnvironmentView } from '../domain/environment-view.js';
import { EnvironmentShareRepository } from '../persistence/environment-share.repository.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';

/** Makes the caller a guest of the environment for as long as its link lives. */
@Injectable()
export class OpenEnvironmentLink {
  constructor(
    private readonly shares: EnvironmentShareRepository,
    private readonly environments: EnvironmentReadModel,
  ) {}

  /** Undefined, for owners and guests too, where the token is not that of the environment's link. */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
    token: string,
  ): Promise<EnvironmentView | undefined> {
    if (!(await this.shares.recordVisit(tx, uid, hashOfLinkToken(token), caller.uid))) return undefined;
    return this.environments.find(tx, caller, uid);
  }
}
