import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { EnvironmentConfig } from '../domain/environment-config.js';
import type { EnvironmentView, Refusal } from '../domain/environment-view.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';
import { EnvironmentRepository } from '../persistence/environment.repository.js';
import { refusal } from './environment-refusal.js';

export type ReplaceEnvironmentOutcome = { outcome: 'replaced'; environment: EnvironmentView } | Refusal;

/** Gives an environment another configuration, which the executions that start from then on are set up by. For its owners. */
@Injectable()
export class ReplaceEnvironment {
  constructor(
    private readonly repository: EnvironmentRepository,
    private readonly environments: EnvironmentReadModel,
  ) {}

  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
    config: EnvironmentConfig,
  ): Promise<ReplaceEnvironmentOutcome> {
    const replaced = await this.repository.replace(tx, caller, uid, config);
    if (!replaced) return refusal(this.environments, tx, caller, uid);
    const environment = await this.environments.find(tx, caller, uid);
    if (environment === undefined) throw new Error('whoever changes an environment can read it');
    return { outcome: 'replaced', environment };
  }
}
