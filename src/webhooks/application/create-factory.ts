import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Factory, FactoryMode } from '../domain/factory.js';
import { FactoryRepository } from '../persistence/factory.repository.js';

export type CreateFactoryOutcome =
  | { outcome: 'created'; factory: Factory }
  | { outcome: 'name_taken' }
  /** The team has as many as a list may hold. */
  | { outcome: 'limit_reached' };

/** Makes a factory of the team that the caller acts for. */
@Injectable()
export class CreateFactory {
  constructor(private readonly factories: FactoryRepository) {}

  async execute(
    tx: Tx,
    caller: AccountCaller,
    factory: { name: string; mode?: FactoryMode },
  ): Promise<CreateFactoryOutcome> {
    const teamUid = activeTeamOf(caller);
    // The name of the default one is never free, whether or not anybody has looked at it.
    await this.factories.insertDefault(tx, teamUid);
    const result = await this.factories.insert(tx, teamUid, {
      name: factory.name,
      mode: factory.mode ?? 'managed',
    });
    return typeof result === 'string' ? { outcome: result } : { outcome: 'created', factory: result };
  }
}
