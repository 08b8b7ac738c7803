import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { DEFAULT_FACTORY_NAME, type Factory, type FactoryMode, isDefaultFactory } from '../domain/factory.js';
import { FactoryRepository } from '../persistence/factory.repository.js';
import { Factories } from './factories.js';

export type UpdateFactoryOutcome =
  | { outcome: 'updated'; factory: Factory }
  | { outcome: 'name_taken' }
  /** The default factory keeps its name. */
  | { outcome: 'is_default' }
  /** The files of its repository name it. */
  | { outcome: 'defined_by_repository' }
  | { outcome: 'gone' };

/** Renames a factory, or says who defines what belongs to it from now on: the API, or a repository. */
@Injectable()
export class UpdateFactory {
  constructor(
    private readonly factories: Factories,
    private readonly repository: FactoryRepository,
  ) {}

  /** @throws Problem 404 when there is no such factory */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
    change: { name?: string; mode?: FactoryMode },
  ): Promise<UpdateFactoryOutcome> {
    const factory = await this.factories.find(tx, caller, uid);
    if (isDefaultFactory(factory) && (change.name ?? DEFAULT_FACTORY_NAME) !== DEFAULT_FACTORY_NAME)
      return { outcome: 'is_default' };
    const mode = await this.factories.hold(tx, uid);
    if (mode === 'repository' && (change.name ?? factory.name) !== factory.name)
      return { outcome: 'defined_by_repository' };
    const result = await this.repository.update(tx, factory, change);
    return typeof result === 'string' ? { outcome: result } : { outcome: 'updated', factory: result };
  }
}
