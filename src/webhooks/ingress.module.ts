import { Module } from '@nestjs/common';
import { IngressController } from './api/ingress.controller.js';
import { IngressHandler } from './api/ingress.handler.js';
import { ReceiveDelivery } from './application/receive-delivery.js';
import { AnnounceDeliveries } from './application/announce-deliveries.js';
import { RecordDelivery } from './application/record-delivery.js';
import { WebhookCache } from './application/webhook-cache.js';
import { DeliveryRepository } from './persistence/delivery.repository.js';
import { IngressConnection } from './persistence/ingress-connection.js';
import { IngressWebhookRepository } from './persistence/ingress-webhook.repository.js';

/** What takes deliveries in. */
@Module({
  controllers: [IngressController],
  providers: [
    IngressConnection,
    DeliveryRepository,
    IngressWebhookRepository,
    WebhookCache,
    RecordDelivery,
    AnnounceDeliveries,
    ReceiveDelivery,
    IngressHandler,
  ],
})
export class IngressModule {}
