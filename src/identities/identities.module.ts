import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard } from './api/access.guard.js';
import { Authenticate } from './application/authenticate.js';
import { BootstrapInstallation } from './application/bootstrap-installation.js';
import { RunKeys } from './application/run-keys.js';
import { PrincipalDirectory } from './application/principal-directory.js';
import { ApiKeyRepository } from './persistence/api-key.repository.js';

@Global()
@Module({
  providers: [
    ApiKeyRepository,
    Authenticate,
    RunKeys,
    BootstrapInstallation,
    PrincipalDirectory,
    { provide: APP_GUARD, useClass: AccessGuard },
  ],
  exports: [Authenticate, RunKeys, BootstrapInstallation, PrincipalDirectory],
})
export class IdentitiesModule {}
