import { Problem } from '../../kernel/errors/problem.js';
import type { AccountCaller } from './caller.js';

/** Who owns a resource: a team or one person. */
export type Ownership = { teamUid: string; ownerUid: null } | { teamUid: null; ownerUid: string };

/**
 * Who will own what the caller creates. An agent identity creates for its team, always.
 *
 * @param team as asked for; by default true for a person with exactly one team
 * @throws Problem 400 naming `team` when a team is to own it and the caller acts for none
 */
export function ownershipFor(caller: AccountCaller, team: boolean | undefined): Ownership {
  if (caller.kind === 'agent') return { teamUid: caller.team.uid, ownerUid: null };
  const wantsTeam = team ?? (caller.team !== undefined && caller.teamCount === 1);
  if (!wantsTeam) return { teamUid: null, ownerUid: caller.uid };
  if (caller.team === undefined) {
    throw Problem.invalid([
      { field: 'team', message: 'needs the header X-Team-Uid: you belong to several teams or none' },
    ]);
  }
  return { teamUid: caller.team.uid, ownerUid: null };
}

/** What the caller owns, personally or through the team that they act for. */
export const ownedBy = (caller: AccountCaller): { teamUid: string | null; ownerUid: string | null } => ({
  teamUid: caller.team?.uid ?? null,
  ownerUid: caller.kind === 'user' ? caller.uid : null,
});
