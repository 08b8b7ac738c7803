import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Logger as WorkerLogger, run, type Runner } from 'graphile-worker';
import pg from 'pg';
import { AppConfig } from '../../config/app-config.js';
import { withNewTrace } from '../http/request-context.js';
import { connectionBounds } from '../persistence/connection-bounds.js';
import { DatabaseUrl } from '../persistence/database-url.js';
import type { Tx } from '../persistence/database.js';

/** The background jobs and their payloads. Runs and deliveries are queues of their own; these are what is left. */
export interface JobPayloads {
  /** Derives the normalised steps of a conversation from its raw transcript and keeps them. */
  normalise_conversation: { conversationId: string };
}
export type JobName = keyof JobPayloads;

const CONCURRENCY = 2;
const STATEMENT_TIMEOUT_MS = 30_000;

/** Background jobs that are enqueued in the transaction of their cause, run at least once and are tried again when they fail. */
@Injectable()
export class JobQueue implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(JobQueue.name);
  private readonly handlers = new Map<string, (payload: never) => Promise<void>>();
  private runner: Runner | undefined;
  private pool: pg.Pool | undefined;

  constructor(
    private readonly databaseUrl: DatabaseUrl,
    private readonly config: AppConfig,
  ) {}

  /** Registers what a job does; call it in `onModuleInit`. */
  handle<Name extends JobName>(name: Name, handler: (payload: JobPayloads[Name]) => Promise<void>): void {
    this.handlers.set(name, handler);
  }

  /** Commits and rolls back with the transaction. A job with the key of one that still waits replaces it. */
  async enqueue<Name extends JobName>(
    tx: Tx,
    name: Name,
    payload: JobPayloads[Name],
    jobKey: string,
  ): Promise<void> {
    await tx.query(`SELECT graphile_worker.add_job($1, payload => $2::json, job_key => $3)`, [
      name,
      JSON.stringify(payload),
      jobKey,
    ]);
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.config.roles.has('sweeper')) return;
    this.pool = new pg.Pool({
      connectionString: this.databaseUrl.value,
      application_name: 'millwright jobs',
      max: CONCURRENCY + 1,
      ...connectionBounds(STATEMENT_TIMEOUT_MS),
    });
    // Without these listeners a connection that the server closes would end the process.
    const lost = (error: Error): void => {
      this.logger.warn({ err: error }, 'a connection of the job queue was lost');
    };
    this.pool.on('error', lost);
    this.pool.on('connect', (client) => client.on('error', lost));
    this.runner = await run({
      pgPool: this.pool,
      concurrency: CONCURRENCY,
      noHandleSignals: true,
      // A pooler may hand each statement to another connection, where a prepared one is unknown.
      noPreparedStatements: true,
      logger: new WorkerLogger(() => (level: string, message, meta) => {
        if (level === 'error') this.logger.error({ job: meta }, message);
        else if (level === 'warning') this.logger.warn({ job: meta }, message);
        else this.logger.debug({}, message);
      }),
      taskList: Object.fromEntries(
        [...this.handlers].map(([name, handler]) => [
          name,
          (payload: unknown) => withNewTrace(() => handler(payload as never)),
        ]),
      ),
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.runner?.stop();
    await this.pool?.end();
  }
}
