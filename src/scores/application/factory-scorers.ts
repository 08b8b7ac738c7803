import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { Scorer, ScorerSettings } from '../domain/scorer.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';
import { CheckScorer } from './check-scorer.js';

/** The scorers of a factory's definition, for whoever applies definitions. The API reads them and does not change them. */
@Injectable()
export class FactoryScorers {
  constructor(
    private readonly scorers: ScorerRepository,
    private readonly check: CheckScorer,
  ) {}

  /** By name. */
  list(database: Queryable, factoryUid: string): Promise<Scorer[]> {
    return this.scorers.ofFactory(database, factoryUid);
  }

  /**
   * Makes the scorer of this name what the settings say. Its id stays, and its results with it.
   *
   * @returns `limit_reached` when it would be new and the team has as many as it may have
   * @throws Problem 400 naming the field; whoever knows the file finds the line
   */
  async save(
    tx: Tx,
    factory: { uid: string; teamUid: string },
    settings: ScorerSettings,
  ): Promise<'created' | 'replaced' | 'limit_reached'> {
    await this.check.execute(tx, factory.teamUid, settings);
    if ((await this.scorers.replaceOfFactory(tx, factory.uid, settings)) !== undefined) return 'replaced';
    const owner = { teamUid: factory.teamUid, factoryUid: factory.uid };
    const created = await this.scorers.insert(tx, owner, settings);
    if (created === 'limit_reached') return created;
    if (created !== 'name_taken') return 'created';
    // Somebody else's apply made it in between, and has committed: it can be seen now.
    await this.scorers.replaceOfFactory(tx, factory.uid, settings);
    return 'replaced';
  }

  /** Deletes those that have none of these names. @returns the names of the deleted */
  deleteExcept(tx: Tx, factoryUid: string, names: string[]): Promise<string[]> {
    return this.scorers.deleteOfFactoryExcept(tx, factoryUid, names);
  }
}
