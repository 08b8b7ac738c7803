export { serveIngress } from './api/serve-ingress.js';
export { Factories } from './application/factories.js';
export type { Factory, FactoryMode } from './domain/factory.js';
export { WebhooksModule } from './webhooks.module.js';
