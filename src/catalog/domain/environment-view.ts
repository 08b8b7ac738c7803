import type { EnvironmentConfig } from './environment-config.js';

/** An environment as whoever may use it reads it. */
export interface EnvironmentView {
  uid: string;
  config: EnvironmentConfig;
  /** Set when a team owns it; otherwise `owner_uid` is. */
  team_uid: string | null;
  owner_uid: string | null;
  creator_uid: string;
  last_editor_uid: string;
  last_updated: Date;
  /** `owner`: the caller owns it, in person or through the team that they act for. `guest`: they read and use it. */
  access: 'owner' | 'guest';
}

/** Orders of the list. */
export const ENVIRONMENT_SORTS = ['name', 'last_updated'] as const;
export type EnvironmentSort = (typeof ENVIRONMENT_SORTS)[number];

/** Whom an environment is shared with. */
export const SHARE_KINDS = ['user', 'team', 'link'] as const;
export type ShareKind = (typeof SHARE_KINDS)[number];

/** A share as it is read; `grantee_uid` is the user's or the team's, null for a link. */
export interface EnvironmentShareView {
  uid: string;
  kind: ShareKind;
  grantee_uid: string | null;
  created_at: Date;
}

/** Why a caller may not change an environment: they may not know of it, or know of it as a guest. */
export type Refusal = { outcome: 'not_found' } | { outcome: 'guests_only_use' };
