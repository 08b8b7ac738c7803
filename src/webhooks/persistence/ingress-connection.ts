import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { connectionBounds } from '../../kernel/persistence/connection-bounds.js';
import { DatabaseUrl } from '../../kernel/persistence/database-url.js';

/** Statements on their way at a time. The database begins the second when it has ended the first, and need not wait for us in between. */
export const MAX_PIPELINED = 2;
const STATEMENT_TIMEOUT_MS = 5_000;

/**
 * The one connection of the ingress: what the API does never makes a sender wait.
 *
 * It opens with the first statement, and with the first one after a loss. Statements are pipelined (PostgreSQL manual, 54.2.4): sent at
 * once and run in their order, each as a transaction of its own, so that one that fails harms no other. Those that are on their way when
 * the connection is lost all fail.
 */
@Injectable()
export class IngressConnection implements OnApplicationShutdown {
  private readonly logger = new Logger(IngressConnection.name);
  private opened: Promise<pg.Client> | undefined;

  constructor(private readonly databaseUrl: DatabaseUrl) {}

  /** Lets what is on its way end. */
  async onApplicationShutdown(): Promise<void> {
    const client = await this.opened?.catch(() => undefined);
    await client?.end();
  }

  async query<Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<Row[]> {
    this.opened ??= this.open();
    const client = await this.opened;
    const { rows } = await client.query<Row>(statement);
    return rows;
  }

  private open(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.databaseUrl.value,
      application_name: 'millwright ingress',
      ...connectionBounds(STATEMENT_TIMEOUT_MS, MAX_PIPELINED),
    });
    const opening = client.connect().then(() => client);
    // A lost connection tells so more than once: the one that has taken its place meanwhile is not meant.
    const forget = (): void => {
      if (this.opened === opening) this.opened = undefined;
    };
    client.on('error', (error) => {
      this.logger.warn({ err: error }, 'the connection of the ingress was lost');
      forget();
    });
    opening.catch(forget);
    return opening;
  }
}
