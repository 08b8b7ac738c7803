/** A managed secret as people see it: never its value. */
export interface SecretView {
  name: string;
  team_uid: string | null;
  owner_uid: string | null;
  created_at: Date;
  updated_at: Date;
}

/** What the value of a secret is encrypted for: it opens in this row and in no other. */
export const secretContext = (uid: string): string => `secret:${uid}`;
