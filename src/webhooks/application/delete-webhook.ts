import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { WebhookRepository } from '../persistence/webhook.repository.js';
import { Webhooks } from './webhooks.js';

/** Deletes a webhook: its senders get 404 from then on. The team's secret stays. */
@Injectable()
export class DeleteWebhook {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly repository: WebhookRepository,
  ) {}

  /** @throws Problem 404 when there is no such webhook, 409 when a repository defines its factory */
  async execute(tx: Tx, caller: AccountCaller, uid: string): Promise<void> {
    await this.webhooks.findToEdit(tx, caller, uid);
    await this.repository.delete(tx, uid);
  }
}
