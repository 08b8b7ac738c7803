import { Module, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '../kernel/observability/metrics.js';
import { Database } from '../kernel/persistence/database.js';
import { EvaluationLog } from './persistence/evaluation-log.js';
import { EvaluationQueue } from './persistence/evaluation-queue.js';
import { FactoryWebhooks } from './persistence/factory-webhooks.js';

const PORTS = [FactoryWebhooks, EvaluationQueue, EvaluationLog];

/** What automations take deliveries from, and where they leave what came of them. */
@Module({ providers: PORTS, exports: PORTS })
export class EvaluationModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly queue: EvaluationQueue,
    private readonly log: EvaluationLog,
    private readonly database: Database,
  ) {}

  onModuleInit(): void {
    this.metrics.observeGauge({
      name: 'millwright_evaluation_lag_seconds',
      help: 'How long the delivery that has waited longest has been waiting to be held against automations, or for its runs; 0 = none waits',
      labelNames: ['step'],
      read: async () => [
        { labels: { step: 'match' }, value: await this.queue.lag(this.database) },
        { labels: { step: 'launch' }, value: await this.log.lag(this.database) },
      ],
    });
  }
}
