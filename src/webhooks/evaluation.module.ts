import { Module } from '@nestjs/common';
import { EvaluationLog } from './persistence/evaluation-log.js';
import { EvaluationQueue } from './persistence/evaluation-queue.js';
import { FactoryWebhooks } from './persistence/factory-webhooks.js';

const PORTS = [FactoryWebhooks, EvaluationQueue, EvaluationLog];

/** What automations take deliveries from, and where they leave what came of them. */
@Module({ providers: PORTS, exports: PORTS })
export class EvaluationModule {}
