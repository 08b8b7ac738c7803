export { serveIngress } from './api/serve-ingress.js';
export { type Factory, type FactoryMode } from './domain/factory.js';
export { WebhooksModule } from './webhooks.module.js';
