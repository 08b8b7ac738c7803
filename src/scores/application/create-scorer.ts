import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Scorer, ScorerSettings } from '../domain/scorer.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';
import { CheckScorer } from './check-scorer.js';

export type CreateScorerOutcome =
  | { outcome: 'created'; scorer: Scorer }
  | { outcome: 'name_taken' }
  /** The team has as many as it may have. */
  | { outcome: 'limit_reached' };

/** Makes a scorer of the team that the caller acts for. */
@Injectable()
export class CreateScorer {
  constructor(
    private readonly scorers: ScorerRepository,
    private readonly check: CheckScorer,
  ) {}

  /** @throws Problem 400 naming the field */
  async execute(tx: Tx, caller: AccountCaller, settings: ScorerSettings): Promise<CreateScorerOutcome> {
    const teamUid = activeTeamOf(caller);
    await this.check.execute(tx, teamUid, settings);
    const scorer = await this.scorers.insert(tx, { teamUid, factoryUid: null }, settings);
    return typeof scorer === 'string' ? { outcome: scorer } : { outcome: 'created', scorer };
  }
}
