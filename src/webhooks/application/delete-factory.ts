import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { isDefaultFactory } from '../domain/factory.js';
import { FactoryRepository } from '../persistence/factory.repository.js';
import { Factories } from './factories.js';

/** Deletes a factory with its webhooks, whose senders get 404 from then on, and all else that belongs to it. */
@Injectable()
export class DeleteFactory {
  constructor(
    private readonly factories: Factories,
    private readonly repository: FactoryRepository,
    private readonly signals: Signals,
  ) {}

  /** @throws Problem 404 when there is no such factory */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
  ): Promise<{ outcome: 'deleted' } | { outcome: 'is_default' } | { outcome: 'gone' }> {
    const factory = await this.factories.find(tx, caller, uid);
    if (isDefaultFactory(factory)) return { outcome: 'is_default' };
    const webhooks = await this.repository.delete(tx, uid);
    if (webhooks === undefined) return { outcome: 'gone' };
    tx.afterCommit(() => {
      for (const webhook of webhooks) this.signals.send('webhook_changed', { uid: webhook });
    });
    return { outcome: 'deleted' };
  }
}
