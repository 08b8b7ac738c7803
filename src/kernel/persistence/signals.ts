import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { AppConfig } from '../../config/app-config.js';
import { connectionBounds } from './connection-bounds.js';
import { DatabaseUrl } from './database-url.js';
import { Database } from './database.js';

/** What replicas tell each other. A signal is a hint that may be lost: each has a poll behind it. */
export interface SignalPayloads {
  /** Runs were queued: dispatchers look for work. */
  run_queued: null;
  /** An execution is to stop: the replica that holds its worker tells it. */
  execution_stop: { runId: string; executionId: number };
  /** Events of runs were numbered: there is something new to read. */
  run_events: null;
  /** Deliveries were queued: evaluators look for work. */
  delivery_queued: null;
  /** A webhook was changed or deleted: what a replica remembers of it is no longer true. */
  webhook_changed: { uid: string };
}
export type SignalName = keyof SignalPayloads;

/** What a process does that acts on signals. */
const LISTENING_ROLES = ['api', 'dispatcher', 'ingress', 'evaluator'] as const;

const CHANNEL = 'millwright_signals';
const RECONNECT_DELAY_MS = 1000;
const STATEMENT_TIMEOUT_MS = 5000;
/** NOTIFY commits like any transaction. A hint that may be lost needs not wait for the disk, nor keep it from those who must. */
const NOTIFY = `
  SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message, set_config('synchronous_commit', 'off', true)`;

/**
 * Signals between replicas over LISTEN and NOTIFY.
 *
 * NOTIFY inside a transaction serialises commits over the whole server (18,740 → 2,959 inserts a second, measured with 32 clients), so
 * a signal is sent after the commit, on a connection of its own transaction, and equal signals of one moment are sent once.
 */
@Injectable()
export class Signals implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Signals.name);
  private readonly listeners = new Map<string, ((payload: never) => void)[]>();
  private readonly outbox = new Set<string>();
  private flushing: Promise<void> | undefined;
  private client: pg.Client | undefined;
  private stopped = false;
  private listening: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly databaseUrl: DatabaseUrl,
    private readonly config: AppConfig,
  ) {}

  async onModuleInit(): Promise<void> {
    const { roles } = this.config;
    if (LISTENING_ROLES.some((role) => roles.has(role))) await this.connect();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
    await this.flushing;
    await this.client?.end().catch(() => undefined);
    await this.listening;
  }

  on<Name extends SignalName>(name: Name, listener: (payload: SignalPayloads[Name]) => void): void {
    const listeners = this.listeners.get(name) ?? [];
    listeners.push(listener);
    this.listeners.set(name, listeners);
  }

  /** Tells every replica, this one included. Returns at once; call it after the commit. */
  send<Name extends SignalName>(name: Name, payload: SignalPayloads[Name]): void {
    this.outbox.add(JSON.stringify({ name, payload }));
    this.flushing ??= this.flush().finally(() => {
      this.flushing = undefined;
    });
  }

  private async flush(): Promise<void> {
    while (this.outbox.size > 0) {
      const messages = [...this.outbox];
      this.outbox.clear();
      try {
        await this.database.query(NOTIFY, [CHANNEL, messages]);
      } catch (error) {
        this.logger.warn({ err: error }, 'signals were lost; the polls will make up for it');
      }
    }
  }

  private async connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.databaseUrl.value,
      application_name: 'millwright signals',
      ...connectionBounds(STATEMENT_TIMEOUT_MS),
    });
    client.on('notification', ({ payload }) => {
      this.dispatch(payload ?? '');
    });
    client.on('error', (error) => {
      this.logger.warn({ err: error }, 'the connection that listens for signals was lost');
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    // Not before: a connection that could not be made ends as well, and whoever made it tries again already.
    client.once('end', () => {
      if (!this.stopped) this.listening = this.reconnect();
    });
    this.client = client;
    if (this.stopped) await client.end();
  }

  private async reconnect(): Promise<void> {
    while (!this.stopped) {
      await delay(RECONNECT_DELAY_MS, undefined, { ref: false });
      try {
        await this.connect();
        return;
      } catch (error) {
        this.logger.warn({ err: error }, 'cannot listen for signals yet');
      }
    }
  }

  private dispatch(message: string): void {
    const { name, payload } = JSON.parse(message) as { name: string; payload: never };
    for (const listener of this.listeners.get(name) ?? []) listener(payload);
  }
}
