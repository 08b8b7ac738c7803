import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog/index.js';

/** Factories, their webhooks, and what is delivered to them. */
@Module({ imports: [CatalogModule] })
export class WebhooksModule {}
