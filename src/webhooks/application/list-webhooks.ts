import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { Webhook } from '../domain/webhook.js';
import { WebhookRepository } from '../persistence/webhook.repository.js';
import { Factories } from './factories.js';

/** Lists the webhooks of a factory by name. */
@Injectable()
export class ListWebhooks {
  constructor(
    private readonly database: Database,
    private readonly factories: Factories,
    private readonly webhooks: WebhookRepository,
  ) {}

  /** @throws Problem 404 when there is no such factory */
  async execute(caller: AccountCaller, factoryUid: string): Promise<Webhook[]> {
    const { uid } = await this.factories.find(this.database, caller, factoryUid);
    return this.webhooks.list(this.database, uid);
  }
}
