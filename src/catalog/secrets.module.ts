import { Module } from '@nestjs/common';
import { SecretsController } from './api/secrets.controller.js';
import { CreateSecret } from './application/create-secret.js';
import { DeleteSecret } from './application/delete-secret.js';
import { ListSecrets } from './application/list-secrets.js';
import { ReencryptSecrets } from './application/reencrypt-secrets.js';
import { Secrets } from './application/secrets.js';
import { UpdateSecret } from './application/update-secret.js';
import { SecretRepository } from './persistence/secret.repository.js';

@Module({
  controllers: [SecretsController],
  providers: [
    SecretRepository,
    Secrets,
    CreateSecret,
    ListSecrets,
    UpdateSecret,
    DeleteSecret,
    ReencryptSecrets,
  ],
  exports: [Secrets, CreateSecret, UpdateSecret],
})
export class SecretsModule {}
