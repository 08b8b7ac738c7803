import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { IdentityKind } from '../domain/delivery.js';
import type { DeliveryFilter, DeliveryPosition, LoggedDelivery } from '../domain/delivery-log.js';

const NIL_UUID = '00000000-0000-0000-0000-000000000000';

const COLUMNS = `
  id, webhook_uid AS "webhookUid", status, duplicate_of AS "duplicateOf", identity_kind, identity_value,
  size_bytes AS "sizeBytes", received_at AS "receivedAt", headers`;

type Row = Omit<LoggedDelivery, 'identity'> & {
  identity_kind: IdentityKind | null;
  identity_value: string | null;
};

/** The log of a webhook's deliveries, for reading. */
@Injectable()
export class DeliveryLog {
  constructor(private readonly database: Database) {}

  /**
   * The latest first. Each status is a range of one index, read no further than the page.
   *
   * @param after where the page before ended
   */
  async list(
    webhookUid: string,
    { statuses, since, until }: DeliveryFilter,
    after: DeliveryPosition | undefined,
    limit: number,
  ): Promise<LoggedDelivery[]> {
    // One upper bound: of two, PostgreSQL may begin at the looser one and read all that lies between.
    const { receivedAt, id } = after ?? { receivedAt: until ?? 'infinity', id: NIL_UUID };
    const rows = await this.database.query<Row>(
      `SELECT d.* FROM unnest($2::text[]) AS lane (status) CROSS JOIN LATERAL (
         SELECT ${COLUMNS} FROM webhook_deliveries
          WHERE webhook_uid = $1 AND status = lane.status
            AND received_at >= $3 AND (received_at, id) < ($4::timestamptz, $5::uuid)
          ORDER BY received_at DESC, id DESC LIMIT $6) AS d
        ORDER BY d."receivedAt" DESC, d.id DESC LIMIT $6`,
      [webhookUid, statuses, since ?? '-infinity', receivedAt, id, limit],
    );
    return rows.map(toLoggedDelivery);
  }

  async find(webhookUid: string, id: string): Promise<LoggedDelivery | undefined> {
    const rows = await this.database.query<Row>(
      `SELECT ${COLUMNS} FROM webhook_deliveries WHERE id = $1 AND webhook_uid = $2`,
      [id, webhookUid],
    );
    return rows[0] && toLoggedDelivery(rows[0]);
  }

  /** The exact bytes of an accepted delivery; undefined for any other, of which none are kept. */
  async payload(webhookUid: string, id: string): Promise<Buffer | undefined> {
    const rows = await this.database.query<{ payload: Buffer | null }>(
      `SELECT payload FROM webhook_deliveries WHERE id = $1 AND webhook_uid = $2`,
      [id, webhookUid],
    );
    return rows[0]?.payload ?? undefined;
  }
}

function toLoggedDelivery({ identity_kind: kind, identity_value: value, ...delivery }: Row): LoggedDelivery {
  return { ...delivery, identity: kind === null || value === null ? undefined : { kind, value } };
}
