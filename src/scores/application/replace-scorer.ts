import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Scorer, ScorerSettings } from '../domain/scorer.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';
import { CheckScorer } from './check-scorer.js';

export type ReplaceScorerOutcome =
  | { outcome: 'replaced'; scorer: Scorer }
  | { outcome: 'not_found' }
  /** The definition of a factory says what it is. */
  | { outcome: 'of_definition' }
  | { outcome: 'name_taken' };

/** Changes all that people set of a scorer. Evaluations that were captured before keep what it was. */
@Injectable()
export class ReplaceScorer {
  constructor(
    private readonly scorers: ScorerRepository,
    private readonly check: CheckScorer,
  ) {}

  /** @throws Problem 400 naming the field */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    id: number,
    settings: ScorerSettings,
  ): Promise<ReplaceScorerOutcome> {
    const teamUid = activeTeamOf(caller);
    const present = await this.scorers.find(tx, teamUid, id);
    if (present === undefined) return { outcome: 'not_found' };
    if (present.factoryUid !== undefined) return { outcome: 'of_definition' };
    await this.check.execute(tx, teamUid, settings);
    const scorer = await this.scorers.replace(tx, teamUid, id, settings);
    if (scorer === 'name_taken') return { outcome: 'name_taken' };
    // Deleted in the meantime.
    return scorer === undefined ? { outcome: 'not_found' } : { outcome: 'replaced', scorer };
  }
}
