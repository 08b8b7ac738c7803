export { Factories } from './application/factories.js';
export type { Factory, FactoryMode } from './domain/factory.js';
export type { SignatureScheme } from './domain/signature-scheme.js';
export type { AuthMode } from './domain/webhook.js';
export { WebhooksModule } from './webhooks.module.js';
