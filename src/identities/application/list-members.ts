import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../domain/caller.js';
import type { Member } from '../domain/membership.js';
import { requireActiveTeam } from '../domain/ownership.js';
import { TeamRepository } from '../persistence/team.repository.js';

/** The members of the team that the caller acts for. */
@Injectable()
export class ListMembers {
  constructor(private readonly teams: TeamRepository) {}

  /** @throws Problem 404 for any other team */
  execute(caller: AccountCaller, teamUid: string): Promise<Member[]> {
    requireActiveTeam(caller, teamUid);
    return this.teams.listMembers(teamUid);
  }
}
