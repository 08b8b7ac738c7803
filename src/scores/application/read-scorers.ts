import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { Scorer } from '../domain/scorer.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';

/** Reads the scorers of the team that the caller acts for. */
@Injectable()
export class ReadScorers {
  constructor(
    private readonly scorers: ScorerRepository,
    private readonly database: Database,
  ) {}

  /** By name. */
  list(caller: AccountCaller): Promise<Scorer[]> {
    return this.scorers.list(this.database, activeTeamOf(caller));
  }

  find(caller: AccountCaller, id: number): Promise<Scorer | undefined> {
    return this.scorers.find(this.database, activeTeamOf(caller), id);
  }
}
