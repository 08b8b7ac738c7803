/** What a route can demand of its caller. Whom a resource belongs to is judged apart from it, in the use case. */
export const PERMISSIONS = [
  /** Read one's own account. */
  'me:read',
  /** Make, list and revoke one's own API keys. */
  'api-keys:manage',
  /** Read the members of one's teams. */
  'teams:read',
  /** Add, change and remove members of the team. */
  'teams:manage',
  /** Make users and teams: the operator of the installation. */
  'installation:manage',
  /** Read the team's agent identities. */
  'agents:read',
  /** Make, change and delete the team's agent identities and their keys: people alone. */
  'agents:manage',
  /** Read environments. */
  'environments:read',
  /** Make, change, share and delete environments. */
  'environments:write',
  /** List skills. */
  'skills:read',
  /** List models. */
  'models:read',
  /** List the names of secrets. */
  'secrets:read',
  /** Make, change and delete secrets. */
  'secrets:write',
  /** Read the team's factories and what belongs to them: webhooks, their deliveries, automations. */
  'factories:read',
  /** Make, change and delete what belongs to factories: the team's permission `manage_factory`. */
  'factories:manage',
  /** Read runs and what they left behind. */
  'runs:read',
  /** Start runs: a run's own agent, too, starts children of its run. */
  'runs:create',
  /** Continue and cancel runs. */
  'runs:write',
  /** Read schedules. */
  'schedules:read',
  /** Make, change, pause and delete schedules. */
  'schedules:write',
  /** Read the team's scorers and their results. */
  'scorers:read',
  /** Make, change and delete the team's scorers. */
  'scorers:write',
  /** Have a run graded. */
  'evaluations:create',
  /** Read the scores of runs. */
  'scores:read',
  /** Report the scores of the one run that the run whose key this is was made to grade. */
  'scores:report',
  /** See which self-hosted workers are connected. */
  'workers:read',
  /** Connect as a worker. */
  'workers:connect',
  /** Report on the one run whose key this is. */
  'execution:report',
] as const;
export type Permission = (typeof PERMISSIONS)[number];
