import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../../kernel/clock.js';
import { withNewTrace } from '../../kernel/http/request-context.js';
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
  private readonly logger = new Logger(SweepDeliveries.name);
  private isSweeping = false;

  constructor(
    private readonly retention: DeliveryRetention,
    private readonly database: Database,
    private readonly transactor: Transactor,
    private readonly config: AppConfig,
  ) {}

  @Interval(MINUTE)
  async tick(): Promise<void> {
    if (!this.config.roles.has('sweeper') || this.isSweeping) return;
    this.isSweeping = true;
    try {
      await withNewTrace(() => this.execute());
    } catch (error) {
      this.logger.error(
        { err: error },
        'the log of deliveries could not be trimmed; the next minute tries again',
      );
    } finally {
      this.isSweeping = false;
    }
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
