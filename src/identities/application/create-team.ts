import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import { type Team, TeamRepository } from '../persistence/team.repository.js';
import { Authenticate } from './authenticate.js';

export type { Team } from '../persistence/team.repository.js';

/** Makes a team with its default agent and its first admin, so that there is always somebody who can add members. */
@Injectable()
export class CreateTeam {
  constructor(
    private readonly teams: TeamRepository,
    private readonly authenticate: Authenticate,
  ) {}

  /** @returns undefined when there is no such user */
  async execute(tx: Tx, team: { name: string; adminUid: string }): Promise<Team | undefined> {
    tx.afterCommit(() => {
      this.authenticate.forget();
    });
    return this.teams.insertTeam(tx, team.name, team.adminUid);
  }
}
