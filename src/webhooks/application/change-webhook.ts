import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Webhook } from '../domain/webhook.js';
import { type WebhookChange, WebhookRepository } from '../persistence/webhook.repository.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { Webhooks } from './webhooks.js';

export type ChangeWebhookOutcome =
  | { outcome: 'changed'; webhook: Webhook }
  /** It cannot be enabled before it has a secret. */
  | { outcome: 'awaiting_secret' }
  /** It cannot be enabled: the secret that it names is there no more. */
  | { outcome: 'secret_missing'; secretName: string }
  /** It cannot be enabled: the secret that it names has a value that it cannot use. */
  | { outcome: 'secret_unfit'; secretName: string; fault: string };

/** Disables a webhook, enables it with the present value of its named secret, or changes what its deliveries are known by. */
@Injectable()
export class ChangeWebhook {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly repository: WebhookRepository,
    private readonly secrets: WebhookSecrets,
  ) {}

  /**
   * @param asked undefined leaves a setting as it is; a header of null is none
   * @throws Problem 404 when there is no such webhook, 409 when a repository defines its factory
   */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
    asked: { deliveryIdHeader?: string | null; enabled?: boolean },
  ): Promise<ChangeWebhookOutcome> {
    const webhook = await this.webhooks.findToEdit(tx, caller, uid);
    const change: WebhookChange = { ...asked };
    if (asked.enabled === true && !webhook.enabled) {
      if (webhook.awaitingSecret) return { outcome: 'awaiting_secret' };
      const { secretName } = webhook;
      const named = await this.secrets.named(tx, webhook.teamUid, secretName, webhook);
      if (named.outcome === 'missing') return { outcome: 'secret_missing', secretName };
      if (named.outcome === 'unfit') return { outcome: 'secret_unfit', secretName, fault: named.fault };
      change.copy = this.secrets.copy(uid, webhook, named.value);
    }
    const isChanged =
      (asked.enabled ?? webhook.enabled) !== webhook.enabled ||
      (asked.deliveryIdHeader !== undefined && asked.deliveryIdHeader !== webhook.deliveryIdHeader);
    const changed = isChanged ? await this.repository.change(tx, uid, change) : webhook;
    if (changed === undefined) throw new Error('a webhook that is being edited cannot be deleted');
    return { outcome: 'changed', webhook: changed };
  }
}
