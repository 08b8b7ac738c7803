import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Webhook } from '../domain/webhook.js';
import { generateSecret, secretFault } from '../domain/webhook-secret.js';
import { WebhookRepository } from '../persistence/webhook.repository.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { Webhooks } from './webhooks.js';

export type RotateWebhookSecretOutcome =
  | { outcome: 'rotated'; webhook: Webhook; secret: string }
  /** There is none to replace yet. */
  | { outcome: 'awaiting_secret' }
  /** The scheme's secrets are not generated here. */
  | { outcome: 'secret_needed' }
  | { outcome: 'secret_unfit'; fault: string }
  /** The team has as many secrets as it may have. */
  | { outcome: 'no_room_for_secret' };

/**
 * Gives a webhook another secret; the old one is worth nothing from then on. The team's secret that the webhook made gets the new value
 * too. One that it merely named serves others as well and stays as it is: the webhook makes its own instead, so that enabling it
 * again does not bring the old value back.
 */
@Injectable()
export class RotateWebhookSecret {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly repository: WebhookRepository,
    private readonly secrets: WebhookSecrets,
  ) {}

  /**
   * @param given undefined = generate it
   * @throws Problem 404 when there is no such webhook, 409 when a repository defines its factory
   */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
    given: string | undefined,
  ): Promise<RotateWebhookSecretOutcome> {
    const before = await this.webhooks.findToEdit(tx, caller, uid);
    if (before.awaitingSecret) return { outcome: 'awaiting_secret' };
    const secret = given ?? generateSecret(before);
    if (secret === undefined) return { outcome: 'secret_needed' };
    const fault = secretFault(before, secret);
    if (fault !== undefined) return { outcome: 'secret_unfit', fault };
    const secretName = await this.keep(tx, before, secret);
    if (secretName === undefined) return { outcome: 'no_room_for_secret' };
    const copy = this.secrets.copy(uid, before, secret);
    const webhook = await this.repository.change(tx, uid, { copy, secretName, madeSecret: true });
    if (webhook === undefined) throw new Error('a webhook that is being edited cannot be deleted');
    return { outcome: 'rotated', webhook, secret };
  }

  /** @returns the name of the team's secret that has the value now; undefined when there is no room for one */
  private async keep(tx: Tx, webhook: Webhook, secret: string): Promise<string | undefined> {
    const { teamUid, name, secretName, madeSecret } = webhook;
    if (madeSecret && (await this.secrets.update(tx, teamUid, secretName, secret))) return secretName;
    return this.secrets.make(tx, teamUid, name, secret);
  }
}
