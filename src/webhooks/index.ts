export { type Factory, type FactoryMode } from './domain/factory.js';
export { WebhooksModule } from './webhooks.module.js';
