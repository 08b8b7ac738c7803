import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, type QueryRunner } from 'typeorm';
import { Database, Tx } from './database.js';
import { isDatabaseUnavailable, isTransactionConflict } from './sqlstate.js';

const MAX_ATTEMPTS = 4;
/** How long a database that went away in a commit may take to come back and tell what became of it. */
const COMMIT_PATIENCE_MS = 10_000;
const COMMIT_POLL_MS = 100;

/** Opens transactions (READ COMMITTED). Used at the edge: controllers, message handlers, loops. */
@Injectable()
export class Transactor {
  private readonly logger = new Logger(Transactor.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly database: Database,
  ) {}

  /**
   * Runs the work in one transaction: commits when it resolves, rolls back when it throws, and runs it again (so it may run more
   * than once) when PostgreSQL undid it for a deadlock. Work that must end without writing throws or returns before it writes.
   *
   * A commit whose answer is lost with the connection is looked up where the work has noted the transaction's id ({@link Tx.noteId}),
   * so that what was committed is answered as such; without the id it is an error.
   */
  async run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(work);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isTransactionConflict(error)) throw error;
        await delay(Math.random() * 20 * 2 ** attempt);
      }
    }
  }

  /** Does the work and undoes it: says what {@link run} would come to. */
  async rehearse<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await this.run(async (tx) => {
        throw new Undone(await work(tx));
      });
    } catch (error) {
      if (error instanceof Undone) return error.result as T;
      throw error;
    }
  }

  private async attempt<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    const tx = new Tx(runner);
    let result: T;
    try {
      await runner.startTransaction();
      result = await work(tx);
      await this.commit(runner, tx);
    } catch (error) {
      if (runner.isTransactionActive) {
        await runner.rollbackTransaction().catch((rollbackError: unknown) => {
          // The connection is gone, so the server has rolled back by itself; the first error says why.
          this.logger.warn({ err: rollbackError }, 'rollback failed');
        });
      }
      throw error;
    } finally {
      await runner.release();
    }
    for (const effect of tx.takeEffects()) {
      try {
        await effect();
      } catch (error) {
        this.logger.error({ err: error }, 'an effect after the commit failed');
      }
    }
    return result;
  }

  private async commit(runner: QueryRunner, tx: Tx): Promise<void> {
    try {
      await runner.commitTransaction();
    } catch (error) {
      if (tx.id === undefined || !isDatabaseUnavailable(error)) throw error;
      if (!(await this.hasCommitted(tx.id))) throw error;
      this.logger.warn({ err: error }, 'the answer of a commit was lost; it has taken effect');
    }
  }

  private async hasCommitted(xid: string): Promise<boolean> {
    const deadline = performance.now() + COMMIT_PATIENCE_MS;
    while (performance.now() < deadline) {
      try {
        const [row] = await this.database.query<{ status: string | null }>(
          'SELECT pg_xact_status($1::xid8) AS status',
          [xid],
        );
        if (row?.status !== 'in progress') return row?.status === 'committed';
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error;
      }
      await delay(COMMIT_POLL_MS);
    }
    return false;
  }
}

/** Carries the result of a rehearsal out of the transaction that it undoes. */
class Undone extends Error {
  constructor(readonly result: unknown) {
    super('the rehearsal is over');
  }
}
