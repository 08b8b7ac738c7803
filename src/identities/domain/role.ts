import type { Permission } from './permission.js';

/** What a caller is; one can be several. */
export const ROLES = ['user', 'member', 'admin', 'factory_manager', 'operator', 'agent', 'run'] as const;
export type Role = (typeof ROLES)[number];

export const PERMISSIONS_OF_ROLE: Record<Role, readonly Permission[]> = {
  /** Any person, in a team or not. */
  user: [
    'me:read',
    'api-keys:manage',
    'environments:read',
    'environments:write',
    'skills:read',
    'models:read',
    'secrets:read',
    'secrets:write',
    'runs:read',
    'runs:create',
    'runs:write',
    'schedules:read',
    'schedules:write',
    'scores:read',
  ],
  /** A person who acts for a team. */
  member: [
    'teams:read',
    'agents:read',
    'agents:manage',
    'factories:read',
    'scorers:read',
    'evaluations:create',
    'workers:read',
    'workers:connect',
  ],
  /** An admin of the team that they act for. */
  admin: ['teams:manage'],
  /** May manage the factories of the team that they act for. */
  factory_manager: ['factories:manage', 'scorers:write'],
  /** Runs the installation. */
  operator: ['installation:manage', 'workers:connect'],
  /** An agent identity: works, but manages nobody. */
  agent: [
    'me:read',
    'agents:read',
    'environments:read',
    'skills:read',
    'models:read',
    'factories:read',
    'runs:read',
    'runs:create',
    'runs:write',
    'schedules:read',
    'schedules:write',
    'scorers:read',
    'evaluations:create',
    'scores:read',
    'workers:read',
    'workers:connect',
  ],
  /** The agent of one execution. */
  run: ['execution:report', 'runs:read', 'runs:create', 'scores:report'],
};

/** The roles that a caller has who is known by one of them. */
export const ROLES_OF_CALLER: Record<Role, readonly Role[]> = {
  user: ['user'],
  member: ['user', 'member'],
  admin: ['user', 'member', 'admin', 'factory_manager'],
  factory_manager: ['user', 'member', 'factory_manager'],
  operator: ['user', 'operator'],
  agent: ['agent'],
  run: ['run'],
};
