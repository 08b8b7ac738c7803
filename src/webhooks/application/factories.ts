import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { Factory, FactoryMode } from '../domain/factory.js';
import { FactoryRepository } from '../persistence/factory.repository.js';

/** Whose factory it is, and whether it may be edited: the first lines of every use case that reads or changes what belongs to one. */
@Injectable()
export class Factories {
  constructor(private readonly factories: FactoryRepository) {}

  /**
   * The factory, if it belongs to the team that the caller acts for.
   *
   * @throws Problem 404 when there is none that the caller may know of
   */
  async find(database: Queryable, caller: AccountCaller, uid: string): Promise<Factory> {
    const factory = await this.factories.find(database, activeTeamOf(caller), uid);
    if (factory === undefined) throw Problem.notFound('factory');
    return factory;
  }

  /** Locks the factory, whoever defines it: see {@link assertManaged}. @throws Problem 404 when it was deleted meanwhile */
  async hold(tx: Tx, uid: string): Promise<FactoryMode> {
    const mode = await this.factories.lock(tx, uid);
    if (mode === undefined) throw Problem.notFound('factory');
    return mode;
  }

  /** Says who defines the factory from now on. */
  async setMode(tx: Tx, factory: Factory, mode: FactoryMode): Promise<void> {
    await this.factories.update(tx, factory, { mode });
  }

  /**
   * Locks the factory until the transaction ends: edits of what belongs to one factory take turns, so that what one counts or checks
   * (in a later statement) stays true until it commits. Lock it before any row of what belongs to it.
   *
   * @throws Problem 409 when it is defined by a repository, 404 when it was deleted meanwhile
   */
  async assertManaged(tx: Tx, uid: string): Promise<void> {
    switch (await this.factories.lock(tx, uid)) {
      case 'managed':
        return;
      case 'repository':
        throw new Problem('conflict', {
          detail:
            'The factory is defined by a repository: change the files there and apply them, as what is changed here would be undone',
          retryable: false,
        });
      case undefined:
        throw Problem.notFound('factory');
    }
  }
}
