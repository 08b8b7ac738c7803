import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import { decodeCursor, encodeCursor } from '../../kernel/pagination/cursor.js';
import { Database } from '../../kernel/persistence/database.js';
import { Keyring } from '../../kernel/security/keyring.js';
import type { ResultFilter, ScorerResult } from '../domain/score-view.js';
import { ScoreReadModel } from '../persistence/score.read-model.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';

export interface ResultPage {
  filter: ResultFilter;
  limit: number;
  cursor?: string;
}

/** A page of the verdicts by one scorer, the latest evaluation first. */
@Injectable()
export class ListResults {
  constructor(
    private readonly scorers: ScorerRepository,
    private readonly scores: ScoreReadModel,
    private readonly database: Database,
    private readonly keyring: Keyring,
  ) {}

  /**
   * @returns undefined when the team has no such scorer
   * @throws Problem 400 for a cursor of another list
   */
  async execute(
    caller: AccountCaller,
    scorerId: number,
    { filter, limit, cursor }: ResultPage,
  ): Promise<{ results: ScorerResult[]; nextCursor?: string } | undefined> {
    const scorer = await this.scorers.find(this.database, activeTeamOf(caller), scorerId);
    if (scorer === undefined) return undefined;
    const scope = JSON.stringify(['results', scorerId, filter]);
    const after = cursor === undefined ? undefined : decodeCursor(this.keyring, scope, cursor);
    // One more than asked for tells whether there is a further page.
    const found = await this.scores.results(
      scorerId,
      filter,
      after && { createdAt: new Date(String(after[0])), evaluationId: String(after[1]) },
      limit + 1,
    );
    const results = found.slice(0, limit);
    const last = results.at(-1);
    if (found.length <= limit || last === undefined) return { results };
    return {
      results,
      nextCursor: encodeCursor(this.keyring, scope, [last.created_at.toISOString(), last.evaluation_id]),
    };
  }
}
