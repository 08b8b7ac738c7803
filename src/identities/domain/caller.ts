/** What a route can demand of its caller. */
export type Permission =
  /** Read runs and what they left behind. */
  | 'runs:read'
  /** Start, continue and cancel runs. */
  | 'runs:write'
  /** Report on the one run whose key this is. */
  | 'execution:report'
  /** Connect as a worker. */
  | 'workers:connect';

/** A person, by an API key of theirs. */
export interface UserCaller {
  kind: 'user';
  keyUid: string;
  uid: string;
  displayName: string;
  email?: string;
  /** The team they act for: named by `X-Team-Uid`, else the only one that they belong to. */
  team?: { uid: string; role: 'admin' | 'member' };
  /** How many teams they belong to. */
  teamCount: number;
  /** The key is an operator's: it serves runs of every team. */
  operator: boolean;
}

/** The agent of one execution of a run, by the run's own key; the key dies with the execution. */
export interface RunCaller {
  kind: 'run';
  keyUid: string;
  runId: string;
  executionId: number;
}

/** Whoever an API key belongs to. */
export type Caller = UserCaller | RunCaller;

const PERMISSIONS: Record<Caller['kind'], readonly Permission[]> = {
  user: ['runs:read', 'runs:write', 'workers:connect'],
  run: ['execution:report', 'runs:read'],
};

export const hasPermission = (caller: Caller, permission: Permission): boolean =>
  PERMISSIONS[caller.kind].includes(permission);
