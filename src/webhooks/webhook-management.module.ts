import { Module, type OnModuleInit } from '@nestjs/common';
import { CatalogModule } from '../catalog/index.js';
import { Reencryption } from '../kernel/security/reencryption.js';
import { FactoriesController } from './api/factories.controller.js';
import { FactoryWebhooksController } from './api/factory-webhooks.controller.js';
import { WebhookSecretController } from './api/webhook-secret.controller.js';
import { WebhooksController } from './api/webhooks.controller.js';
import { ApplyWebhooks } from './application/apply-webhooks.js';
import { ChangeWebhook } from './application/change-webhook.js';
import { CreateFactory } from './application/create-factory.js';
import { CreateWebhook } from './application/create-webhook.js';
import { DeleteFactory } from './application/delete-factory.js';
import { DeleteWebhook } from './application/delete-webhook.js';
import { Factories } from './application/factories.js';
import { ListFactories } from './application/list-factories.js';
import { ListWebhooks } from './application/list-webhooks.js';
import { RotateWebhookSecret } from './application/rotate-webhook-secret.js';
import { SupplyWebhookSecret } from './application/supply-webhook-secret.js';
import { UpdateFactory } from './application/update-factory.js';
import { WebhookSecrets } from './application/webhook-secrets.js';
import { Webhooks } from './application/webhooks.js';
import { FactoryRepository } from './persistence/factory.repository.js';
import { SealedCopyRepository } from './persistence/sealed-copy.repository.js';
import { WebhookRepository } from './persistence/webhook.repository.js';

/** Factories and their webhooks, as people make and change them. */
@Module({
  imports: [CatalogModule],
  controllers: [FactoriesController, FactoryWebhooksController, WebhooksController, WebhookSecretController],
  providers: [
    FactoryRepository,
    Factories,
    ListFactories,
    CreateFactory,
    UpdateFactory,
    DeleteFactory,
    WebhookRepository,
    Webhooks,
    WebhookSecrets,
    ListWebhooks,
    CreateWebhook,
    ChangeWebhook,
    DeleteWebhook,
    RotateWebhookSecret,
    SupplyWebhookSecret,
    ApplyWebhooks,
    SealedCopyRepository,
  ],
  exports: [Factories, Webhooks, ApplyWebhooks],
})
export class WebhookManagementModule implements OnModuleInit {
  constructor(
    private readonly reencryption: Reencryption,
    private readonly copies: SealedCopyRepository,
  ) {}

  onModuleInit(): void {
    this.reencryption.register(this.copies);
  }
}
