import { ApiProperty } from '@nestjs/swagger';
import type { AccountTeam } from '../application/read-account.js';
import type { AccountCaller } from '../domain/caller.js';
import { TEAM_PERMISSIONS, TEAM_ROLES, type TeamPermission, type TeamRole } from '../domain/membership.js';
import { PrincipalResponse } from './principal.dto.js';

/** A team that the caller belongs to. */
export class AccountTeamResponse implements AccountTeam {
  /**
   * The team.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  uid: string;

  /**
   * Its name.
   * @example "Web shop"
   */
  name: string;

  /**
   * What the caller is in it.
   * @example "admin"
   */
  @ApiProperty({ enum: TEAM_ROLES })
  role: TeamRole;

  /**
   * What was granted to the caller beyond the role; an admin may do everything without it.
   * @example ["manage_factory"]
   */
  @ApiProperty({ enum: TEAM_PERMISSIONS, isArray: true })
  permissions: TeamPermission[];
}

/** Whoever calls. */
export class AccountResponse {
  /** The person or the agent identity that the API key belongs to. */
  principal: PrincipalResponse;

  /** The teams that they belong to. */
  teams: AccountTeamResponse[];

  /**
   * The team that this request acted for: the one that `X-Team-Uid` names, or the only one.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  active_team_uid?: string;
}

export function toAccountResponse(caller: AccountCaller, teams: AccountTeam[]): AccountResponse {
  return {
    principal: {
      type: caller.kind === 'user' ? 'user' : 'service_account',
      uid: caller.uid,
      display_name: caller.displayName,
      email: caller.kind === 'user' ? caller.email : undefined,
    },
    teams: teams.map(({ uid, name, role, permissions }) => ({ uid, name, role, permissions })),
    active_team_uid: caller.team?.uid,
  };
}
