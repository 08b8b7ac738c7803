import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { decodeCursor, encodeCursor } from '../../kernel/pagination/cursor.js';
import { Database } from '../../kernel/persistence/database.js';
import { Keyring } from '../../kernel/security/keyring.js';
import type { DeliveryFilter, DeliveryPosition, LoggedDelivery } from '../domain/delivery-log.js';
import { DeliveryLog } from '../persistence/delivery-log.js';
import { Webhooks } from './webhooks.js';

/** A page of a webhook's log, the latest first. While deliveries come in, no page repeats one of an earlier page. */
@Injectable()
export class ListDeliveries {
  constructor(
    private readonly database: Database,
    private readonly webhooks: Webhooks,
    private readonly log: DeliveryLog,
    private readonly keyring: Keyring,
  ) {}

  /** @throws Problem 404 when there is no such webhook, 400 for a cursor of another list */
  async execute(
    caller: AccountCaller,
    webhookUid: string,
    { filter, limit, cursor }: { filter: DeliveryFilter; limit: number; cursor?: string },
  ): Promise<{ deliveries: LoggedDelivery[]; nextCursor?: string }> {
    await this.webhooks.find(this.database, caller, webhookUid);
    const { statuses, since, until } = filter;
    const scope = JSON.stringify(['deliveries', webhookUid, [...statuses].sort(), since, until]);
    const after = cursor === undefined ? undefined : this.positionOf(scope, cursor);
    const found = await this.log.list(webhookUid, filter, after, limit + 1);
    const deliveries = found.slice(0, limit);
    const last = deliveries.at(-1);
    if (found.length <= limit || last === undefined) return { deliveries };
    const nextCursor = encodeCursor(this.keyring, scope, [last.receivedAt.toISOString(), last.id]);
    return { deliveries, nextCursor };
  }

  private positionOf(scope: string, cursor: string): DeliveryPosition {
    const [receivedAt, id] = decodeCursor(this.keyring, scope, cursor);
    return { receivedAt: new Date(String(receivedAt)), id: String(id) };
  }
}
