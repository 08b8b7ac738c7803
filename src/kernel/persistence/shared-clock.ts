import type { Queryable } from './database.js';

/** The time that all replicas agree on, see docs/adr/0004-database-time.md. In tests it can be turned. */
export abstract class SharedClock {
  /** To the millisecond; within a transaction the time at which it began. */
  abstract now(database: Queryable): Promise<Date>;
}

/** PostgreSQL's own clock. */
export class DatabaseClock extends SharedClock {
  async now(database: Queryable): Promise<Date> {
    const [row] = await database.query<{ now: Date }>('SELECT now()');
    if (row === undefined) throw new Error('there is always a time');
    return row.now;
  }
}
