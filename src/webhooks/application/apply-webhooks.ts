import { Injectable } from '@nestjs/common';
import type { FieldError } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { deliveryIdHeaderFault } from '../domain/delivery-id-header.js';
import type { Factory } from '../domain/factory.js';
import { MAX_WEBHOOKS, type Webhook } from '../domain/webhook.js';
import { type SecretCopy, WebhookRepository } from '../persistence/webhook.repository.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** What a definition says that a webhook is to be. */
export type DesiredWebhook = Pick<
  Webhook,
  'name' | 'authMode' | 'signatureScheme' | 'secretName' | 'deliveryIdHeader' | 'enabled'
>;

/** What became of a webhook of the definition, or of one that it has not. */
export type WebhookStep =
  | { action: 'create' | 'update' | 'delete'; name: string }
  | { action: 'refuse'; name: string; error: FieldError };

/** The settings that a definition decides. A webhook keeps the name that it was made with, whose case may be another one. */
const SETTINGS = [
  'authMode',
  'signatureScheme',
  'secretName',
  'deliveryIdHeader',
  'enabled',
] as const satisfies (keyof DesiredWebhook)[];

/** Makes the webhooks of a factory those of its definition: what it has not is deleted, and secrets are copied anew. */
@Injectable()
export class ApplyWebhooks {
  constructor(
    private readonly webhooks: WebhookRepository,
    private readonly secrets: WebhookSecrets,
  ) {}

  /** What there is at present, by name. */
  present(database: Queryable, factoryUid: string): Promise<Webhook[]> {
    return this.webhooks.list(database, factoryUid);
  }

  /**
   * Call it while the factory is held. Nothing is left undone for a refusal: whoever gets one undoes the transaction.
   *
   * @returns the changes; what is as it should be is left out
   */
  async execute(tx: Tx, factory: Factory, desired: DesiredWebhook[]): Promise<WebhookStep[]> {
    const present = new Map((await this.present(tx, factory.uid)).map((each) => [keyOf(each), each]));
    const copies = await this.webhooks.copies(tx, factory.uid);
    const wanted = new Set(desired.map(keyOf));
    const steps: WebhookStep[] = [];
    for (const [key, { uid, name }] of present) {
      if (wanted.has(key)) continue;
      await this.webhooks.delete(tx, uid);
      steps.push({ action: 'delete', name });
    }
    for (const [index, each] of desired.entries()) {
      const before = present.get(keyOf(each));
      const step =
        index < MAX_WEBHOOKS
          ? await this.applyOne(tx, factory, each, before, before && copies.get(before.uid))
          : refusal(each, '', `is one too many: a factory has at most ${MAX_WEBHOOKS} webhooks`);
      if (step !== undefined) steps.push(step);
    }
    return steps;
  }

  private async applyOne(
    tx: Tx,
    { uid: factoryUid, teamUid }: Factory,
    desired: DesiredWebhook,
    before: Webhook | undefined,
    copy: SecretCopy | undefined,
  ): Promise<WebhookStep | undefined> {
    const { name, secretName, deliveryIdHeader } = desired;
    const headerFault = deliveryIdHeader === null ? undefined : deliveryIdHeaderFault(deliveryIdHeader);
    if (headerFault !== undefined) return refusal(desired, 'deliveryIdHeader', headerFault);
    const named = await this.secrets.named(tx, teamUid, secretName, desired);
    if (named.outcome === 'missing') {
      return refusal(desired, 'secretName', 'must name a secret of the team: there is none of this name');
    }
    if (named.outcome === 'unfit') {
      return refusal(desired, 'secretName', `must name a secret whose value fits: it ${named.fault}`);
    }
    if (before === undefined) {
      const uid = newUuid();
      await this.webhooks.insert(tx, {
        ...desired,
        uid,
        factoryUid,
        teamUid,
        madeSecret: false,
        copy: this.secrets.copy(uid, desired, named.value),
      });
      return { action: 'create', name };
    }
    const isSame = SETTINGS.every((setting) => before[setting] === desired[setting]);
    if (isSame && copy !== undefined && this.secrets.isCopyOf(before.uid, copy, named.value))
      return undefined;
    await this.webhooks.redefine(tx, {
      ...before,
      ...desired,
      name: before.name,
      madeSecret: before.madeSecret && before.secretName === secretName,
      copy: this.secrets.copy(before.uid, desired, named.value),
    });
    return { action: 'update', name: before.name };
  }
}

/** Names are unique in whatever case. */
const keyOf = ({ name }: { name: string }): string => name.toLowerCase();

const refusal = ({ name }: DesiredWebhook, field: string, message: string): WebhookStep => ({
  action: 'refuse',
  name,
  error: { field, message },
});
