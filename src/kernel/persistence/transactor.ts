import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Tx } from './database.js';
import { isTransactionConflict } from './sqlstate.js';

const MAX_ATTEMPTS = 4;

/** Opens transactions (READ COMMITTED). Used at the edge: controllers, message handlers, loops. */
@Injectable()
export class Transactor {
  private readonly logger = new Logger(Transactor.name);

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs the work in one transaction: commits when it resolves, rolls back when it throws, and runs it again (so it may run more
   * than once) when PostgreSQL undid it for a deadlock. Work that must end without writing throws or returns before it writes.
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

  private async attempt<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    const tx = new Tx(runner);
    let result: T;
    try {
      await runner.startTransaction();
      result = await work(tx);
      await runner.commitTransaction();
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
}
