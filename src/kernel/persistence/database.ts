import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { DataSource, type EntityManager, type QueryRunner } from 'typeorm';

/** Runs one SQL statement; parameters are `$1`, `$2`, … */
export interface Queryable {
  query<Row extends object>(sql: string, parameters?: unknown[]): Promise<Row[]>;
}

async function rowsOf<Row extends object>(
  runner: QueryRunner,
  sql: string,
  parameters: unknown[],
): Promise<Row[]> {
  // The structured result: without it TypeORM answers an UPDATE or DELETE with [rows, count] and anything else with rows.
  const result = await runner.query(sql, parameters, true);
  return result.records as Row[];
}

/** Reads outside of a transaction, each statement on any connection of the pool. Writes take a {@link Tx}. */
@Injectable()
export class Database implements Queryable {
  constructor(private readonly dataSource: DataSource) {}

  async query<Row extends object>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await rowsOf<Row>(runner, sql, parameters);
    } finally {
      await runner.release();
    }
  }
}

/** An open transaction. Whatever writes takes it as its first argument, so that the unit of work can be seen in every signature. */
export class Tx implements Queryable {
  private readonly effects: (() => void | Promise<void>)[] = [];
  private xid: string | undefined;

  constructor(private readonly runner: QueryRunner) {}

  query<Row extends object>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return rowsOf<Row>(this.runner, sql, parameters);
  }

  /**
   * The same for a hot statement whose text never varies: each connection has it parsed and planned once. A large statement costs more
   * to plan than to execute.
   */
  async queryPrepared<Row extends object>(sql: string, parameters: unknown[]): Promise<Row[]> {
    const client = (await this.runner.connect()) as PoolClient;
    const { rows } = await client.query<Row>({ name: preparedName(sql), text: sql, values: parameters });
    return rows;
  }

  /** The transaction's id (`xid8`), once somebody has noted it. */
  get id(): string | undefined {
    return this.xid;
  }

  /** Notes `pg_current_xact_id()`, so that a commit whose answer is lost can be asked about. */
  noteId(xid: string): void {
    this.xid = xid;
  }

  /** TypeORM's repositories within this transaction. */
  get manager(): EntityManager {
    return this.runner.manager;
  }

  /**
   * Runs the effect once the transaction has committed. It may be lost (the process can die in between), so it is for wake-ups
   * and caches; what must happen is a row written in this transaction.
   */
  afterCommit(effect: () => void | Promise<void>): void {
    this.effects.push(effect);
  }

  takeEffects(): (() => void | Promise<void>)[] {
    return this.effects.splice(0);
  }
}

const preparedNames = new Map<string, string>();

function preparedName(sql: string): string {
  let name = preparedNames.get(sql);
  if (name === undefined) {
    name = createHash('sha256').update(sql).digest('base64url');
    preparedNames.set(sql, name);
  }
  return name;
}
