import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Refusal } from '../domain/environment-view.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';
import { EnvironmentRepository } from '../persistence/environment.repository.js';
import { refusal } from './environment-refusal.js';

/** Deletes an environment with all its shares. Runs keep its id. For its owners. */
@Injectable()
export class DeleteEnvironment {
  constructor(
    private readonly repository: EnvironmentRepository,
    private readonly environments: EnvironmentReadModel,
  ) {}

  async execute(tx: Tx, caller: AccountCaller, uid: string): Promise<{ outcome: 'deleted' } | Refusal> {
    const deleted = await this.repository.delete(tx, caller, uid);
    return deleted ? { outcome: 'deleted' } : refusal(this.environments, tx, caller, uid);
  }
}
