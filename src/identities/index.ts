export { PrincipalResponse, ScopeResponse } from './api/principal.dto.js';
export { bearerToken } from './api/access.guard.js';
export {
  callerOf,
  CurrentCaller,
  CurrentExecution,
  CurrentUser,
  RequirePermission,
} from './api/require-permission.js';
export { Authenticate } from './application/authenticate.js';
export { BootstrapInstallation } from './application/bootstrap-installation.js';
export { type Principal, PrincipalDirectory } from './application/principal-directory.js';
export { RunKeys } from './application/run-keys.js';
export type { Caller, RunCaller, UserCaller } from './domain/caller.js';
export { hasPermission } from './domain/caller.js';
export { IdentitiesModule } from './identities.module.js';
