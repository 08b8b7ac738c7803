import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SECOND } from '../../kernel/clock.js';
import { BackgroundWork } from '../../kernel/jobs/background-work.js';
import { Database, type Queryable, type Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import type { RunEventType } from '../domain/run-event.js';

/** The topmost ancestor of a run `r`, or the run itself: its tree has one name. */
export const ROOT_RUN = 'coalesce(r.ancestor_ids[cardinality(r.ancestor_ids)], r.id)';

const BATCH = 1000;
const RETENTION_DAYS = 7;
const RETENTION_BATCH = 5000;

/**
 * The order of the events of all runs, over all replicas.
 *
 * A number that is drawn in the transaction of an event says nothing of when that commits: a reader that has seen 8 would miss the 7
 * that commits after it. So an event is written without a number, in the statement of what it tells of, and numbered once it has been
 * committed, by whoever comes first. Those who number take turns (a lock until their commit), so the numbers become visible in their
 * order, and whatever is below a number that can be seen can be seen, too. A long transaction holds up its own events alone.
 *
 * A process that dies between a commit and the numbering leaves that to any other one, which looks every second.
 */
@Injectable()
export class RunEventLog {
  private readonly logger = new Logger(RunEventLog.name);
  private pass: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(
    private readonly transactor: Transactor,
    private readonly database: Database,
    private readonly signals: Signals,
    private readonly background: BackgroundWork,
  ) {}

  /** For whoever writes events in the transaction: they are numbered right after it. */
  numberAfter(tx: Tx): void {
    tx.afterCommit(() => {
      void this.settle().catch((error: unknown) => {
        this.logger.warn({ err: error }, 'events were not numbered; the next second tries again');
      });
    });
  }

  /** Resolves when everything that was committed before the call has its number. Calls during a pass share the one after it. */
  settle(): Promise<void> {
    if (this.pass === undefined) return (this.pass = this.number().finally(() => (this.pass = undefined)));
    return (this.next ??= this.pass
      .catch(() => undefined)
      .then(() => {
        this.next = undefined;
        return this.settle();
      }));
  }

  @Interval(SECOND)
  poll(): Promise<void> {
    return this.background.round({ complaint: 'events could not be looked for' }, async () => {
      const left = await this.database.query('SELECT 1 FROM run_events WHERE sequence IS NULL LIMIT 1');
      if (left.length > 0) await this.settle();
    });
  }

  private async number(): Promise<void> {
    let numbered: number;
    do {
      numbered = await this.transactor.run(async (tx) => {
        await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('run_events', 0))`);
        // A statement of its own: it sees what those numbered who had the lock before. The sequence of the ids gives the numbers, too:
        // it never goes back, whatever has been forgotten.
        const rows = await tx.query(
          `WITH numbered AS (
             SELECT id, nextval('run_events_id_seq') AS sequence
               FROM (SELECT id FROM run_events WHERE sequence IS NULL ORDER BY id LIMIT ${String(BATCH)}
                        FOR UPDATE SKIP LOCKED) waiting
           )
           UPDATE run_events e SET sequence = n.sequence FROM numbered n WHERE e.id = n.id RETURNING e.id`,
        );
        return rows.length;
      });
      if (numbered > 0) this.signals.send('run_events', null);
    } while (numbered === BATCH);
  }

  /** Adds an event that no transition brings about. */
  async add(
    tx: Tx,
    { runId, executionId }: { runId: string; executionId: number },
    event: { type: RunEventType; refId: string | null },
  ): Promise<void> {
    this.numberAfter(tx);
    await tx.query(
      `INSERT INTO run_events (run_id, root_run_id, execution_id, event_type, ref_id)
       SELECT r.id, ${ROOT_RUN}, $2, $3, $4 FROM runs r WHERE r.id = $1`,
      [runId, executionId, event.type, event.refId],
    );
  }

  /** The number of the run's latest event; 0 when it has none. */
  async latestOf(database: Queryable, runId: string): Promise<number> {
    const rows = await database.query<{ sequence: string | null }>(
      'SELECT max(sequence) AS sequence FROM run_events WHERE run_id = $1',
      [runId],
    );
    return Number(rows[0]?.sequence ?? 0);
  }

  /**
   * Forgets a batch of the oldest events, those that are older than a week.
   *
   * @returns whether there may be more of them
   */
  async forgetOld(tx: Tx): Promise<boolean> {
    // Looks at no more than a batch, however young all of it is.
    const forgotten = await tx.query(
      `WITH oldest AS (
         SELECT id, occurred_at FROM run_events ORDER BY id LIMIT ${String(RETENTION_BATCH)}
       )
       DELETE FROM run_events e USING oldest o
        WHERE e.id = o.id AND o.occurred_at < now() - make_interval(days => ${String(RETENTION_DAYS)}) RETURNING e.id`,
    );
    return forgotten.length === RETENTION_BATCH;
  }
}
