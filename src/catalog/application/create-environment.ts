import { Injectable } from '@nestjs/common';
import type { AccountCaller, Ownership } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { EnvironmentConfig } from '../domain/environment-config.js';
import { newEnvironmentUid } from '../domain/environment-uid.js';
import type { EnvironmentView } from '../domain/environment-view.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';
import { EnvironmentRepository, MAX_ENVIRONMENTS } from '../persistence/environment.repository.js';

export type CreateEnvironmentOutcome =
  | { outcome: 'created'; environment: EnvironmentView }
  /** The owner has as many as a team or a person may have. */
  | { outcome: 'limit_reached'; limit: number };

/** Makes an environment. */
@Injectable()
export class CreateEnvironment {
  constructor(
    private readonly repository: EnvironmentRepository,
    private readonly environments: EnvironmentReadModel,
  ) {}

  /** @param owner the caller, or the team that they act for */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    owner: Ownership,
    config: EnvironmentConfig,
  ): Promise<CreateEnvironmentOutcome> {
    const uid = newEnvironmentUid();
    if (!(await this.repository.insert(tx, { uid, owner, config, creatorUid: caller.uid })))
      return { outcome: 'limit_reached', limit: MAX_ENVIRONMENTS };
    const environment = await this.environments.find(tx, caller, uid);
    if (environment === undefined) throw new Error('whoever creates an environment can read it');
    return { outcome: 'created', environment };
  }
}
