import { Module } from '@nestjs/common';
import { WebhookManagementModule } from './webhook-management.module.js';

const PARTS = [WebhookManagementModule];

/** Factories, their webhooks, and what is delivered to them. */
@Module({ imports: PARTS, exports: PARTS })
export class WebhooksModule {}
