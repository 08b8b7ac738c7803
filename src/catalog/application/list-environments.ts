import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { EnvironmentSort, EnvironmentView } from '../domain/environment-view.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';

/** The environments that the caller may use; at most 3,000. */
@Injectable()
export class ListEnvironments {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentReadModel,
  ) {}

  execute(caller: AccountCaller, sort: EnvironmentSort): Promise<EnvironmentView[]> {
    return this.environments.list(this.database, caller, sort);
  }
}
