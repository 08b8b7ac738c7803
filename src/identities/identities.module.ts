import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccountController } from './api/account.controller.js';
import { AgentIdentitiesController } from './api/agent-identities.controller.js';
import { TeamsController } from './api/teams.controller.js';
import { AccessGuard } from './api/access.guard.js';
import { Authenticate } from './application/authenticate.js';
import { BootstrapInstallation } from './application/bootstrap-installation.js';
import { RunKeys } from './application/run-keys.js';
import { PrincipalDirectory } from './application/principal-directory.js';
import { AgentIdentities } from './application/agent-identities.js';
import { People } from './application/people.js';
import { ReadAccount } from './application/read-account.js';
import { CreateApiKey } from './application/create-api-key.js';
import { ListApiKeys } from './application/list-api-keys.js';
import { RevokeApiKey } from './application/revoke-api-key.js';
import { CreateUser } from './application/create-user.js';
import { CreateTeam } from './application/create-team.js';
import { ListMembers } from './application/list-members.js';
import { SetMember } from './application/set-member.js';
import { RemoveMember } from './application/remove-member.js';
import { CreateAgent } from './application/create-agent.js';
import { DefinedAgents } from './application/defined-agents.js';
import { ReadAgents } from './application/read-agents.js';
import { UpdateAgent } from './application/update-agent.js';
import { DeleteAgent } from './application/delete-agent.js';
import { ApiKeyRepository } from './persistence/api-key.repository.js';
import { AgentRepository } from './persistence/agent.repository.js';
import { TeamRepository } from './persistence/team.repository.js';

@Global()
@Module({
  controllers: [AccountController, TeamsController, AgentIdentitiesController],
  providers: [
    ApiKeyRepository,
    AgentRepository,
    TeamRepository,
    Authenticate,
    RunKeys,
    BootstrapInstallation,
    PrincipalDirectory,
    AgentIdentities,
    People,
    ReadAccount,
    CreateApiKey,
    ListApiKeys,
    RevokeApiKey,
    CreateUser,
    CreateTeam,
    ListMembers,
    SetMember,
    RemoveMember,
    CreateAgent,
    DefinedAgents,
    ReadAgents,
    UpdateAgent,
    DeleteAgent,
    { provide: APP_GUARD, useClass: AccessGuard },
  ],
  exports: [
    Authenticate,
    RunKeys,
    BootstrapInstallation,
    PrincipalDirectory,
    AgentIdentities,
    DefinedAgents,
    People,
  ],
})
export class IdentitiesModule {}
