import { Injectable, Logger } from '@nestjs/common';
import { Metrics } from '../../kernel/observability/metrics.js';

/** What operators are told of evaluation. */
@Injectable()
export class EvaluationReports {
  private readonly logger = new Logger('Evaluation');
  private readonly ended;
  private readonly failures;

  constructor(metrics: Metrics) {
    this.ended = metrics.counter({
      name: 'millwright_delivery_matches_total',
      help: 'Matches of deliveries and automations, by what came of them',
      labelNames: ['outcome'],
    });
    this.failures = metrics.counter({
      name: 'millwright_evaluation_failures_total',
      help: 'Failures of ours in the evaluation of deliveries: tried again, or given up',
      labelNames: ['step', 'consequence'],
    });
  }

  /** What came of a match. */
  settled(outcome: 'matched' | 'not_matched' | 'error'): void {
    this.ended.increment({ outcome });
  }

  /** @param willRetry false = it is shown as failed from now on */
  failed(step: 'match' | 'launch', willRetry: boolean, fields: object, error: unknown): void {
    this.failures.increment({ step, consequence: willRetry ? 'retry' : 'given_up' });
    const message =
      step === 'match' ? 'a delivery could not be evaluated' : 'a run of a delivery could not be started';
    if (willRetry) this.logger.warn({ ...fields, err: error }, `${message}; it is tried again`);
    else this.logger.error({ ...fields, err: error }, `${message}, and is given up`);
  }
}
