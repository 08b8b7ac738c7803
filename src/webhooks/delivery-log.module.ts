import { Module } from '@nestjs/common';
import { DeliveriesController } from './api/deliveries.controller.js';
import { ListDeliveries } from './application/list-deliveries.js';
import { ReadDelivery } from './application/read-delivery.js';
import { SweepDeliveries } from './application/sweep-deliveries.js';
import { DeliveryLog } from './persistence/delivery-log.js';
import { DeliveryRetention } from './persistence/delivery-retention.js';
import { EvaluationModule } from './evaluation.module.js';
import { WebhookManagementModule } from './webhook-management.module.js';

/** What was delivered: to be read, and thrown away in time. */
@Module({
  imports: [WebhookManagementModule, EvaluationModule],
  controllers: [DeliveriesController],
  providers: [DeliveryLog, ListDeliveries, ReadDelivery, DeliveryRetention, SweepDeliveries],
})
export class DeliveryLogModule {}
