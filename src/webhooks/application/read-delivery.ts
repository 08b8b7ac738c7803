import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database } from '../../kernel/persistence/database.js';
import type { Evaluation } from '../domain/evaluation.js';
import type { LoggedDelivery } from '../domain/delivery-log.js';
import { DeliveryLog } from '../persistence/delivery-log.js';
import { EvaluationLog } from '../persistence/evaluation-log.js';
import { Webhooks } from './webhooks.js';

/** One delivery of the log, and the bytes of it where they are kept. */
@Injectable()
export class ReadDelivery {
  constructor(
    private readonly database: Database,
    private readonly webhooks: Webhooks,
    private readonly log: DeliveryLog,
    private readonly evaluations: EvaluationLog,
  ) {}

  /**
   * With what automations made of it; none while it waits for that.
   *
   * @throws Problem 404 when there is no such delivery
   */
  async execute(
    caller: AccountCaller,
    webhookUid: string,
    deliveryId: string,
  ): Promise<{ delivery: LoggedDelivery; evaluations: Evaluation[] }> {
    await this.webhooks.find(this.database, caller, webhookUid);
    const delivery = await this.log.find(webhookUid, deliveryId);
    if (delivery === undefined) throw Problem.notFound('delivery');
    return { delivery, evaluations: await this.evaluations.ofDelivery(this.database, deliveryId) };
  }

  /** The exact bytes that came in. @throws Problem 404 when there is no such delivery, or it was not accepted */
  async payload(caller: AccountCaller, webhookUid: string, deliveryId: string): Promise<Buffer> {
    await this.webhooks.find(this.database, caller, webhookUid);
    const payload = await this.log.payload(webhookUid, deliveryId);
    if (payload === undefined) throw Problem.notFound('payload: those of accepted deliveries alone are kept');
    return payload;
  }
}
