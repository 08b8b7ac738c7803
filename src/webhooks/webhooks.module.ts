import { Module } from '@nestjs/common';
import { IngressModule } from './ingress.module.js';
import { WebhookManagementModule } from './webhook-management.module.js';

const PARTS = [WebhookManagementModule, IngressModule];

/** Factories, their webhooks, and what is delivered to them. */
@Module({ imports: PARTS, exports: PARTS })
export class WebhooksModule {}
