import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import { hasPermission, type UserCaller } from '../domain/caller.js';
import { requireActiveTeam } from '../domain/ownership.js';
import { TeamRepository } from '../persistence/team.repository.js';
import { Authenticate } from './authenticate.js';

/** `last_admin`: they are the team's only admin. `not_allowed`: only admins remove others. */
export type RemoveMemberOutcome = 'removed' | 'not_a_member' | 'last_admin' | 'not_allowed';

/** Removes a member from the team that the caller acts for: an admin anybody, a member themselves. */
@Injectable()
export class RemoveMember {
  constructor(
    private readonly teams: TeamRepository,
    private readonly authenticate: Authenticate,
  ) {}

  /** @throws Problem 404 for a team that the caller does not act for */
  async execute(tx: Tx, caller: UserCaller, teamUid: string, userUid: string): Promise<RemoveMemberOutcome> {
    requireActiveTeam(caller, teamUid);
    if (userUid !== caller.uid && !hasPermission(caller, 'teams:manage')) return 'not_allowed';
    tx.afterCommit(() => {
      this.authenticate.forget();
    });
    return this.teams.removeMember(tx, teamUid, userUid);
  }
}
