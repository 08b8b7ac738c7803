export { PrincipalResponse, ScopeResponse } from './api/principal.dto.js';
export { bearerToken } from './api/access.guard.js';
export {
  callerOf,
  CurrentAccount,
  CurrentCaller,
  CurrentExecution,
  CurrentUser,
  RequirePermission,
} from './api/require-permission.js';
export { Authenticate } from './application/authenticate.js';
export { BootstrapInstallation } from './application/bootstrap-installation.js';
export { type Principal, PrincipalDirectory } from './application/principal-directory.js';
export { RunKeys } from './application/run-keys.js';
export type { AccountCaller, AgentCaller, Caller, RunCaller, UserCaller } from './domain/caller.js';
export { hasPermission } from './domain/caller.js';
export { IdentitiesModule } from './identities.module.js';
export { type Ownership, ownedBy, ownershipFor } from './domain/ownership.js';
