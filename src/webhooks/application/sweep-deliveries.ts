import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { MINUTE } from '../../kernel/clock.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { DeliveryRetention } from '../persistence/delivery-retention.js';

/** Webhooks that are looked at in one statement. */
const PAGE_SIZE = 100;
/** Rows with payloads of up to 256 KB, and rows of some bytes. */
const DELIVERY_BATCH = 500;
const SMALL_BATCH = 5_000;

/**
 * Keeps the log of deliveries at what the specification promises, at least the latest 50 of a webhook and those of 7 days, and forgets
 * what webhooks that are gone have left. Any number of replicas may do it at once.
 */
@Injectable()
export class SweepDeliveries {
  constructor(
    private readonly retention: DeliveryRetention,
    private readonly database: Database,
    private readonly transactor: Transactor,
    private readonly background: BackgroundWork,
  ) {}

  @Interval(MINUTE)
  tick(): Promise<void> {
    return this.background.round(
      { role: 'sweeper', complaint: 'the log of deliveries could not be trimmed' },
      () => this.execute(),
    );
  }

  async execute(): Promise<void> {
    await this.walk('webhook_deliveries', async (uids) => {
      for (const overdue of await this.retention.overdue(this.database, uids)) {
        await this.exhaust(DELIVERY_BATCH, (tx, limit) => this.retention.trim(tx, overdue, limit));
      }
    });
    await this.walk('webhook_identities', (uids) =>
      this.exhaust(SMALL_BATCH, (tx, limit) => this.retention.forgetIdentities(tx, uids, limit)),
    );
    await this.exhaust(SMALL_BATCH, (tx, limit) => this.retention.dropBudgets(tx, limit));
  }

  private async walk(
    table: 'webhook_deliveries' | 'webhook_identities',
    visit: (uids: string[]) => Promise<void>,
  ): Promise<void> {
    let uids = await this.retention.webhooksOf(this.database, table, undefined, PAGE_SIZE);
    while (uids.length > 0) {
      await visit(uids);
      uids = await this.retention.webhooksOf(this.database, table, uids.at(-1), PAGE_SIZE);
    }
  }

  /** Deletes batch after batch, each in a transaction of its own, until one is not full. */
  private async exhaust(limit: number, remove: (tx: Tx, limit: number) => Promise<number>): Promise<void> {
    let removed = limit;
    while (removed === limit) removed = await this.transactor.run((tx) => remove(tx, limit));
  }
}
