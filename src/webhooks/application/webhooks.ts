import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { Webhook } from '../domain/webhook.js';
import { WebhookRepository } from '../persistence/webhook.repository.js';
import { Factories } from './factories.js';

/** Whose webhook it is, and whether it may be edited: the first lines of every use case that reads or changes one. */
@Injectable()
export class Webhooks {
  constructor(
    private readonly webhooks: WebhookRepository,
    private readonly factories: Factories,
  ) {}

  /** The webhook, if the caller acts for its team. @throws Problem 404 when there is none that the caller may know of */
  async find(database: Queryable, caller: AccountCaller, uid: string): Promise<Webhook> {
    const webhook = await this.webhooks.find(database, activeTeamOf(caller), uid);
    if (webhook === undefined) throw Problem.notFound('webhook');
    return webhook;
  }

  /**
   * The webhook as it stays until the transaction ends, unless this transaction changes it: edits of one factory take turns.
   *
   * @throws Problem 404 when there is none that the caller may know of, 409 when a repository defines its factory
   */
  async findToEdit(tx: Tx, caller: AccountCaller, uid: string): Promise<Webhook> {
    const { factoryUid } = await this.find(tx, caller, uid);
    await this.factories.assertManaged(tx, factoryUid);
    // Once more: it may have changed, or gone, while this edit waited for its turn.
    return this.find(tx, caller, uid);
  }
}
