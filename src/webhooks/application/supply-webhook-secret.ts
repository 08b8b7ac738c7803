import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Webhook } from '../domain/webhook.js';
import { secretFault } from '../domain/webhook-secret.js';
import { WebhookRepository } from '../persistence/webhook.repository.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { Webhooks } from './webhooks.js';

export type SupplyWebhookSecretOutcome =
  | { outcome: 'supplied'; webhook: Webhook }
  /** It has a secret, which rotation replaces. */
  | { outcome: 'has_secret' }
  | { outcome: 'secret_unfit'; fault: string }
  /** The team has as many secrets as it may have. */
  | { outcome: 'no_room_for_secret' };

/** The second step: gives a webhook the secret that its provider has issued for the ingress URL, and enables it. */
@Injectable()
export class SupplyWebhookSecret {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly repository: WebhookRepository,
    private readonly secrets: WebhookSecrets,
  ) {}

  /** @throws Problem 404 when there is no such webhook, 409 when a repository defines its factory */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
    secret: string,
  ): Promise<SupplyWebhookSecretOutcome> {
    const before = await this.webhooks.findToEdit(tx, caller, uid);
    if (!before.awaitingSecret) return { outcome: 'has_secret' };
    const fault = secretFault(before, secret);
    if (fault !== undefined) return { outcome: 'secret_unfit', fault };
    const { teamUid, name, secretName: suggested } = before;
    const secretName = await this.secrets.make(tx, teamUid, name, secret, suggested);
    if (secretName === undefined) return { outcome: 'no_room_for_secret' };
    const copy = this.secrets.copy(uid, before, secret);
    const change = { copy, secretName, madeSecret: true, enabled: true };
    const webhook = await this.repository.change(tx, uid, change);
    if (webhook === undefined) throw new Error('a webhook that is being edited cannot be deleted');
    return { outcome: 'supplied', webhook };
  }
}
