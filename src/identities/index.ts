export { PrincipalResponse, ScopeResponse } from './api/principal.dto.js';
export {
  ENVIRONMENT_ID,
  HarnessAuthSecretsDto,
  HarnessDto,
  InferenceProvidersDto,
  LONG_TEXT,
  McpServerDto,
  MemoryStoreDto,
  SHORT_TEXT,
  SKILL_SPEC_LENGTH,
} from './api/agent-settings.dto.js';
export { bearerToken } from './api/access.guard.js';
export {
  AnonymousOr,
  callerOf,
  CurrentAccount,
  CurrentCaller,
  CurrentExecution,
  CurrentUser,
  OptionalCaller,
  RequirePermission,
} from './api/require-permission.js';
export { AgentDefinitions } from './application/agent-definitions.js';
export { AgentIdentities, type ExecutingAgent } from './application/agent-identities.js';
export { Authenticate } from './application/authenticate.js';
export { BootstrapInstallation } from './application/bootstrap-installation.js';
export { DefinedAgents } from './application/defined-agents.js';
export { People } from './application/people.js';
export { type Principal, PrincipalDirectory } from './application/principal-directory.js';
export { RunKeys } from './application/run-keys.js';
export {
  type CredentialStrategy,
  type Harness,
  HARNESS_TYPES,
  type HarnessAuthSecrets,
  type HarnessType,
  type InferenceProviders,
  type McpServer,
  type MemoryStore,
} from './domain/agent-settings.js';
export type { AccountCaller, AgentCaller, Caller, RunCaller, UserCaller } from './domain/caller.js';
export { actingAgent, actingPerson, hasPermission } from './domain/caller.js';
export { IdentitiesModule } from './identities.module.js';
export type { AgentIdentity, AgentSettings } from './domain/agent-identity.js';
export type { Member } from './domain/membership.js';
export {
  activeTeamOf,
  type Ownership,
  ownedBy,
  ownershipFor,
  requireActiveTeam,
} from './domain/ownership.js';
