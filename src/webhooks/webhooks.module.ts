import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog/index.js';
import { IngressModule } from './ingress.module.js';

/** Factories, their webhooks, and what is delivered to them. */
@Module({ imports: [CatalogModule, IngressModule] })
export class WebhooksModule {}
