import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { type Factory, isDefaultFactory } from '../domain/factory.js';
import { FactoryRepository } from '../persistence/factory.repository.js';

/**
 * Lists the factories of the team that the caller acts for. Every team has its default one from its start; it becomes a row when it is
 * first looked at, since teams are made by a context that knows nothing of factories.
 */
@Injectable()
export class ListFactories {
  constructor(private readonly factories: FactoryRepository) {}

  async execute(tx: Tx, caller: AccountCaller): Promise<Factory[]> {
    const teamUid = activeTeamOf(caller);
    const factories = await this.factories.list(tx, teamUid);
    if (factories.some(isDefaultFactory)) return factories;
    await this.factories.insertDefault(tx, teamUid);
    return this.factories.list(tx, teamUid);
  }
}
