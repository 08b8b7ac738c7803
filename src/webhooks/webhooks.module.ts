import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog/index.js';
import { FactoriesController } from './api/factories.controller.js';
import { CreateFactory } from './application/create-factory.js';
import { DeleteFactory } from './application/delete-factory.js';
import { Factories } from './application/factories.js';
import { ListFactories } from './application/list-factories.js';
import { UpdateFactory } from './application/update-factory.js';
import { EvaluationLog } from './persistence/evaluation-log.js';
import { EvaluationQueue } from './persistence/evaluation-queue.js';
import { FactoryWebhooks } from './persistence/factory-webhooks.js';
import { FactoryRepository } from './persistence/factory.repository.js';
import { IngressModule } from './ingress.module.js';

/** Factories, their webhooks, and what is delivered to them. */
@Module({
  imports: [CatalogModule, IngressModule],
  controllers: [FactoriesController],
  providers: [
    FactoryRepository,
    Factories,
    ListFactories,
    CreateFactory,
    UpdateFactory,
    DeleteFactory,
    FactoryWebhooks,
    EvaluationQueue,
    EvaluationLog,
  ],
  exports: [Factories, FactoryWebhooks, EvaluationQueue, EvaluationLog],
})
export class WebhooksModule {}
