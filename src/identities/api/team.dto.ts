import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayUnique,
  IsArray,
  IsEmail,
  IsIn,
  IsOptional,
  IsString,
  IsUUID,
  Matches,
  MaxLength,
} from 'class-validator';
import type { Team } from '../application/create-team.js';
import {
  type Member,
  TEAM_PERMISSIONS,
  TEAM_ROLES,
  type TeamPermission,
  type TeamRole,
} from '../domain/membership.js';
import { PrincipalResponse } from './principal.dto.js';

/** A new user. */
export class CreateUserRequest {
  /**
   * Their name.
   * @example "Ada Lovelace"
   */
  @IsString()
  @Matches(/\S/, { message: 'must not be empty' })
  @MaxLength(256)
  display_name: string;

  /**
   * Their e-mail address; no two users have the same.
   * @example "ada@example.com"
   */
  @IsOptional()
  @IsEmail()
  email?: string;
}

/** The new user. */
export class CreatedUserResponse {
  /**
   * The user.
   * @example "019c3f0e-0000-7000-8000-000000000001"
   */
  uid: string;

  /**
   * Their name.
   * @example "Ada Lovelace"
   */
  display_name: string;

  /**
   * Their e-mail address.
   * @example "ada@example.com"
   */
  email?: string;

  /**
   * When they were made.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /**
   * Their first API key, to hand over: it is kept nowhere, so it cannot be shown again.
   * @example "wk-Zm9vYmFyZXhhbXBsZWV4YW1wbGVleGFtcGxlZXhhbXBsZWV4YW1w"
   */
  api_key: string;
}

/** A new team. */
export class CreateTeamRequest {
  /**
   * Its name.
   * @example "Web shop"
   */
  @IsString()
  @Matches(/\S/, { message: 'must not be empty' })
  @MaxLength(256)
  name: string;

  /**
   * The user who is its first admin; left out = you.
   * @example "019c3f0e-0000-7000-8000-000000000001"
   */
  @IsOptional()
  @IsUUID()
  @ApiProperty({ format: 'uuid', required: false })
  admin_uid?: string;
}

/** A team. */
export class TeamResponse {
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
   * When it was made.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

/** What a user is to be in a team. */
export class SetMemberRequest {
  /**
   * An admin may do everything in the team, a member works in it.
   * @example "member"
   */
  @IsIn(TEAM_ROLES)
  @ApiProperty({ enum: TEAM_ROLES })
  role: TeamRole;

  /**
   * What they may do beyond their role; left out = nothing.
   * @example ["manage_factory"]
   */
  @IsOptional()
  @IsArray()
  @ArrayUnique()
  @IsIn(TEAM_PERMISSIONS, { each: true })
  @ApiProperty({ enum: TEAM_PERMISSIONS, isArray: true, required: false })
  permissions?: TeamPermission[];
}

/** A member of a team. */
export class MemberResponse {
  /** Who. */
  user: PrincipalResponse;

  /**
   * What they are in the team.
   * @example "member"
   */
  @ApiProperty({ enum: TEAM_ROLES })
  role: TeamRole;

  /**
   * What was granted to them beyond the role; an admin may do everything without it.
   * @example ["manage_factory"]
   */
  @ApiProperty({ enum: TEAM_PERMISSIONS, isArray: true })
  permissions: TeamPermission[];

  /**
   * Since when they belong to the team.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

/** The members of a team. */
export class ListMembersResponse {
  /** All of them, the longest membership first. */
  members: MemberResponse[];
}

export const toTeamResponse = (team: Team): TeamResponse => ({
  uid: team.uid,
  name: team.name,
  created_at: team.createdAt.toISOString(),
});

export const toMemberResponse = (member: Member): MemberResponse => ({
  user: { type: 'user', uid: member.userUid, display_name: member.displayName, email: member.email },
  role: member.role,
  permissions: member.permissions,
  created_at: member.createdAt.toISOString(),
});
