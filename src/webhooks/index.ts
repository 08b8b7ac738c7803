export { ApplyWebhooks, type DesiredWebhook, type WebhookStep } from './application/apply-webhooks.js';
export { Factories } from './application/factories.js';
export type { Factory, FactoryMode } from './domain/factory.js';
export { type EvaluationPlan, MAX_PATHS, OUTCOME } from './domain/evaluation.js';
export { RESOURCE_NAME, RESOURCE_NAME_LENGTH, RESOURCE_NAME_RULE } from './domain/resource-name.js';
export type { SignatureScheme } from './domain/signature-scheme.js';
export type { AuthMode } from './domain/webhook.js';
export {
  type ClaimedMatch,
  EvaluationLog,
  matchKey,
  type MatchResult,
} from './persistence/evaluation-log.js';
export { type Claim, type ClaimedDelivery, EvaluationQueue } from './persistence/evaluation-queue.js';
export { type FactoryWebhook, FactoryWebhooks } from './persistence/factory-webhooks.js';
export { serveIngress } from './api/serve-ingress.js';
export { WebhooksModule } from './webhooks.module.js';
