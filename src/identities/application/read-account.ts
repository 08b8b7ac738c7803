import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../domain/caller.js';
import type { TeamPermission, TeamRole } from '../domain/membership.js';
import { TeamRepository } from '../persistence/team.repository.js';

export interface AccountTeam {
  uid: string;
  name: string;
  role: TeamRole;
  permissions: TeamPermission[];
}

/** The teams of whoever calls. An agent identity is a member of its one team. */
@Injectable()
export class ReadAccount {
  constructor(private readonly teams: TeamRepository) {}

  async teamsOf(caller: AccountCaller): Promise<AccountTeam[]> {
    if (caller.kind === 'user') return this.teams.teamsOf(caller.uid);
    const name = await this.teams.nameOf(caller.team.uid);
    return name === undefined ? [] : [{ uid: caller.team.uid, name, role: 'member', permissions: [] }];
  }
}
