import { Module } from '@nestjs/common';
import { EnvironmentManagementController } from './api/environment-management.controller.js';
import { EnvironmentResponses } from './api/environment-responses.js';
import { EnvironmentSharesController } from './api/environment-shares.controller.js';
import { EnvironmentsController } from './api/environments.controller.js';
import { CreateEnvironment } from './application/create-environment.js';
import { DeleteEnvironment } from './application/delete-environment.js';
import { Environments } from './application/environments.js';
import { ListEnvironmentShares } from './application/list-environment-shares.js';
import { ListEnvironments } from './application/list-environments.js';
import { OpenEnvironmentLink } from './application/open-environment-link.js';
import { ReplaceEnvironment } from './application/replace-environment.js';
import { RevokeEnvironmentShare } from './application/revoke-environment-share.js';
import { ShareEnvironment } from './application/share-environment.js';
import { EnvironmentShareRepository } from './persistence/environment-share.repository.js';
import { EnvironmentReadModel } from './persistence/environment.read-model.js';
import { EnvironmentRepository } from './persistence/environment.repository.js';

/** Environments and their shares. `EnvironmentRuns` is bound by the runs module, for the whole application. */
@Module({
  controllers: [EnvironmentsController, EnvironmentManagementController, EnvironmentSharesController],
  providers: [
    EnvironmentResponses,
    Environments,
    ListEnvironments,
    OpenEnvironmentLink,
    CreateEnvironment,
    ReplaceEnvironment,
    DeleteEnvironment,
    ListEnvironmentShares,
    ShareEnvironment,
    RevokeEnvironmentShare,
    EnvironmentReadModel,
    EnvironmentRepository,
    EnvironmentShareRepository,
  ],
  exports: [Environments, EnvironmentReadModel],
})
export class EnvironmentsModule {}
