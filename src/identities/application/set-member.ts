import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import type { UserCaller } from '../domain/caller.js';
import type { Member, TeamPermission, TeamRole } from '../domain/membership.js';
import { requireActiveTeam } from '../domain/ownership.js';
import { TeamRepository } from '../persistence/team.repository.js';
import { Authenticate } from './authenticate.js';

export type SetMemberOutcome =
  | { outcome: 'set'; member: Member }
  | { outcome: 'no_such_user' }
  /** They are the team's only admin and would not be one any more. */
  | { outcome: 'last_admin' }
  | { outcome: 'full' };

/** Adds a user to the team that the caller is an admin of, or replaces what they are in it. */
@Injectable()
export class SetMember {
  constructor(
    private readonly teams: TeamRepository,
    private readonly authenticate: Authenticate,
  ) {}

  /** @throws Problem 404 for a team that the caller does not act for */
  async execute(
    tx: Tx,
    caller: UserCaller,
    teamUid: string,
    userUid: string,
    membership: { role: TeamRole; permissions: TeamPermission[] },
  ): Promise<SetMemberOutcome> {
    requireActiveTeam(caller, teamUid);
    const outcome = await this.teams.setMember(tx, teamUid, userUid, membership);
    if (outcome !== 'set') return { outcome };
    tx.afterCommit(() => {
      this.authenticate.forget();
    });
    const member = await this.teams.findMember(tx, teamUid, { uid: userUid });
    if (member === undefined) throw new Error('the membership that was just written cannot be read');
    return { outcome, member };
  }
}
