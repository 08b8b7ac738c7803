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

/**
 * The team that the caller acts for.
 *
 * @throws Problem 403 when a person belongs to several teams or none and has named none
 */
export function activeTeamOf(caller: AccountCaller): string {
  if (caller.team === undefined) {
    throw new Problem('not_authorized', {
      detail: 'Name the team in the header X-Team-Uid: you belong to several teams or none',
    });
  }
  return caller.team.uid;
}

/** @throws Problem 404 unless this is the team that the caller acts for: of any other they may not know */
export function requireActiveTeam(caller: AccountCaller, teamUid: string): void {
  if (caller.team?.uid !== teamUid) throw Problem.notFound('team');
}
