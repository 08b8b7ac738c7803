import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import type { RunMessageView } from '../domain/run-message-view.js';
import type { RunVisibility } from './run.read-model.js';

const HEADER = `m.id, m.sender_run_id, m.subject, m.created_at AS sent_at, m.delivered_at, m.read_at`;

/** The messages of runs as they are read. */
@Injectable()
export class RunMail {
  constructor(private readonly database: Database) {}

  /** The messages of a run in their order; undefined when the run does not exist or may not be seen. */
  async list(
    runId: string,
    { teamUid, ownerUid, runId: ownRunId }: RunVisibility,
    filter: { unread: boolean; since: Date | undefined; limit: number },
  ): Promise<RunMessageView[] | undefined> {
    const rows = await this.database.query<RunMessageView | Record<keyof RunMessageView, null>>(
      `SELECT m.* FROM runs r LEFT JOIN LATERAL (
              SELECT ${HEADER} FROM run_messages m
               WHERE m.run_id = r.id AND ($5::boolean IS FALSE OR m.read_at IS NULL)
                 AND ($6::timestamptz IS NULL OR m.created_at > $6) ORDER BY m.sequence LIMIT $7) m ON true
        WHERE r.id = $1
          AND (r.team_uid = $2 OR r.owner_uid = $3 OR r.id = $4 OR r.ancestor_ids @> ARRAY[$4::uuid])
        ORDER BY m.sent_at`,
      [runId, teamUid, ownerUid, ownRunId, filter.unread, filter.since ?? null, filter.limit],
    );
    if (rows.length === 0) return undefined;
    return rows.flatMap((row) => (row.id === null ? [] : [row]));
  }

  /** The text of a message to the run, which counts as read from then on; undefined when the run has no such message. */
  async read(
    tx: Tx,
    runId: string,
    messageId: string,
  ): Promise<(RunMessageView & { message: string }) | undefined> {
    const rows = await tx.query<RunMessageView & { message: string }>(
      `UPDATE run_messages m SET read_at = coalesce(m.read_at, clock_timestamp()) WHERE m.id = $1 AND m.run_id = $2
       RETURNING ${HEADER}, m.message`,
      [messageId, runId],
    );
    return rows[0];
  }

  async exists(tx: Tx, runId: string, messageId: string): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM run_messages WHERE id = $1 AND run_id = $2', [
      messageId,
      runId,
    ]);
    return rows.length === 1;
  }
}
