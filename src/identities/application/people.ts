import { Injectable } from '@nestjs/common';
import { isUuid } from '../../kernel/ids.js';
import { Database, type Queryable } from '../../kernel/persistence/database.js';
import type { Member } from '../domain/membership.js';
import { TeamRepository } from '../persistence/team.repository.js';

/** The members of teams, for whoever acts on behalf of one. */
@Injectable()
export class People {
  constructor(
    private readonly teams: TeamRepository,
    private readonly database: Database,
  ) {}

  /** @param uidOrEmail an e-mail address in whatever case @returns undefined when no member of the team is called that */
  findMember(teamUid: string, uidOrEmail: string): Promise<Member | undefined> {
    const by = isUuid(uidOrEmail) ? { uid: uidOrEmail } : { email: uidOrEmail };
    return this.teams.findMember(this.database, teamUid, by);
  }

  /** Those of them who are there, in a team or not. */
  existing(database: Queryable, uids: string[]): Promise<Set<string>> {
    return this.teams.existingUsers(database, uids);
  }
}
