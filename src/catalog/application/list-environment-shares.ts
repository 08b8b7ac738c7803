import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { EnvironmentShareView, Refusal } from '../domain/environment-view.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';

/** Whom an environment is shared with; at most 1,000. For its owners. */
@Injectable()
export class ListEnvironmentShares {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentReadModel,
  ) {}

  async execute(
    caller: AccountCaller,
    environmentUid: string,
  ): Promise<{ outcome: 'found'; shares: EnvironmentShareView[] } | Refusal> {
    const environment = await this.environments.find(this.database, caller, environmentUid);
    if (environment === undefined) return { outcome: 'not_found' };
    if (environment.access === 'guest') return { outcome: 'guests_only_use' };
    return { outcome: 'found', shares: await this.environments.shares(this.database, environmentUid) };
  }
}
