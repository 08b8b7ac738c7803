/** What a person is in a team. */
export const TEAM_ROLES = ['admin', 'member'] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];

/** What a member can be granted beyond their role. An admin has all of it without a grant. */
export const TEAM_PERMISSIONS = ['manage_factory'] as const;
export type TeamPermission = (typeof TEAM_PERMISSIONS)[number];

/** A person in a team. */
export interface Member {
  userUid: string;
  displayName: string;
  email?: string;
  role: TeamRole;
  /** Granted beyond the role. */
  permissions: TeamPermission[];
  createdAt: Date;
}
