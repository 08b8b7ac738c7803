import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';

/** Deletes a scorer. The scores that it has given remain, and judges that are at work by it may still report. */
@Injectable()
export class DeleteScorer {
  constructor(private readonly scorers: ScorerRepository) {}

  async execute(
    tx: Tx,
    caller: AccountCaller,
    id: number,
  ): Promise<'deleted' | 'not_found' | 'of_definition'> {
    const teamUid = activeTeamOf(caller);
    if (await this.scorers.delete(tx, teamUid, id)) return 'deleted';
    const isThere = (await this.scorers.find(tx, teamUid, id)) !== undefined;
    return isThere ? 'of_definition' : 'not_found';
  }
}
