import { Module, type OnModuleInit } from '@nestjs/common';
import { Reencryption } from '../kernel/security/reencryption.js';
import { SecretsController } from './api/secrets.controller.js';
import { CreateSecret } from './application/create-secret.js';
import { DeleteSecret } from './application/delete-secret.js';
import { ListSecrets } from './application/list-secrets.js';
import { Secrets } from './application/secrets.js';
import { UpdateSecret } from './application/update-secret.js';
import { SecretRepository } from './persistence/secret.repository.js';

@Module({
  controllers: [SecretsController],
  providers: [SecretRepository, Secrets, CreateSecret, ListSecrets, UpdateSecret, DeleteSecret],
  exports: [Secrets, CreateSecret, UpdateSecret],
})
export class SecretsModule implements OnModuleInit {
  constructor(
    private readonly reencryption: Reencryption,
    private readonly secrets: SecretRepository,
  ) {}

  onModuleInit(): void {
    this.reencryption.register(this.secrets);
  }
}
