import type { Permission } from './permission.js';
import { PERMISSIONS_OF_ROLE, type Role } from './role.js';

/** The team that a caller acts for. */
export interface ActiveTeam {
  uid: string;
  role: 'admin' | 'member';
  /** Whether they may manage its factories: admins, and members to whom it was granted. */
  manageFactory: boolean;
}

/** A person, by an API key of theirs. */
export interface UserCaller {
  kind: 'user';
  keyUid: string;
  uid: string;
  displayName: string;
  email?: string;
  /** The team they act for: named by `X-Team-Uid`, else the only one that they belong to. */
  team?: ActiveTeam;
  /** How many teams they belong to. */
  teamCount: number;
  /** The key is an operator's: it administers the installation, and its workers serve runs of every team. */
  operator: boolean;
}

/** An agent identity (service account), by an API key of its own. It acts for its team, always. */
export interface AgentCaller {
  kind: 'agent';
  keyUid: string;
  uid: string;
  displayName: string;
  team: { uid: string };
  /** Whether it may name a person on whose behalf it starts a run. */
  onBehalfOfEnabled: boolean;
}

/** The agent of one execution of a run, by the run's own key; the key dies with the execution. */
export interface RunCaller {
  kind: 'run';
  keyUid: string;
  runId: string;
  executionId: number;
}

/** Whoever has an account: what creates and owns things. */
export type AccountCaller = UserCaller | AgentCaller;

/** Whoever an API key belongs to. */
export type Caller = AccountCaller | RunCaller;

/**
 * Somebody in whose name something is done while they are not there, with the rights of a member of the team at most.
 *
 * @param keyUid the key that it goes back to; empty where no key has a part in it
 */
export const actingPerson = (acting: {
  uid: string;
  teamUid: string | null;
  keyUid?: string;
}): UserCaller => ({
  kind: 'user',
  keyUid: acting.keyUid ?? '',
  uid: acting.uid,
  displayName: '',
  team: acting.teamUid === null ? undefined : { uid: acting.teamUid, role: 'member', manageFactory: false },
  teamCount: acting.teamUid === null ? 0 : 1,
  operator: false,
});

/** An agent identity in whose name something is done by others. */
export const actingAgent = (acting: { uid: string; teamUid: string; keyUid: string }): AgentCaller => ({
  kind: 'agent',
  keyUid: acting.keyUid,
  uid: acting.uid,
  displayName: '',
  team: { uid: acting.teamUid },
  onBehalfOfEnabled: false,
});

/** The roles of a caller; their permissions add up. */
export function rolesOf(caller: Caller): Role[] {
  switch (caller.kind) {
    case 'user':
      return [
        'user',
        ...(caller.team === undefined ? [] : (['member'] as const)),
        ...(caller.team?.role === 'admin' ? (['admin'] as const) : []),
        ...(caller.team?.manageFactory ? (['factory_manager'] as const) : []),
        ...(caller.operator ? (['operator'] as const) : []),
      ];
    case 'agent':
      return ['agent'];
    case 'run':
      return ['run'];
  }
}

export const hasPermission = (caller: Caller, permission: Permission): boolean =>
  rolesOf(caller).some((role) => PERMISSIONS_OF_ROLE[role].includes(permission));
