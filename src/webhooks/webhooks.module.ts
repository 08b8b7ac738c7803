import { Module } from '@nestjs/common';
import { DeliveryLogModule } from './delivery-log.module.js';
import { EvaluationModule } from './evaluation.module.js';
import { IngressModule } from './ingress.module.js';
import { WebhookManagementModule } from './webhook-management.module.js';

const PARTS = [WebhookManagementModule, IngressModule, EvaluationModule, DeliveryLogModule];

/** Factories, their webhooks, and what is delivered to them. */
@Module({ imports: PARTS, exports: PARTS })
export class WebhooksModule {}
