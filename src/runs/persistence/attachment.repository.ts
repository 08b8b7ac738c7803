import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { RunVisibility } from './run.read-model.js';

/** A file of a run whose bytes lie in object storage. */
export interface StoredAttachment {
  id: string;
  fileName: string;
  mimeType: string;
  /** Null of one whose bytes its giver puts there themselves, and perhaps has not yet. */
  sizeBytes: number | null;
  objectKey: string;
}

/** Of one run. */
export const MAX_ATTACHMENTS = 100;

/** The files that runs were given. */
@Injectable()
export class AttachmentRepository {
  async insert(tx: Tx, attachments: (StoredAttachment & { runId: string })[]): Promise<void> {
    await tx.query(
      `INSERT INTO run_attachments (id, run_id, file_name, mime_type, size_bytes, object_key)
       SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::text[])`,
      [
        attachments.map(({ id }) => id),
        attachments.map(({ runId }) => runId),
        attachments.map(({ fileName }) => fileName),
        attachments.map(({ mimeType }) => mimeType),
        attachments.map(({ sizeBytes }) => sizeBytes),
        attachments.map(({ objectKey }) => objectKey),
      ],
    );
  }

  /**
   * Adds files to a run, all of them or none; whoever else does waits.
   *
   * @returns `not_found` for a run that is not within the scope, `too_many` when it would have more than {@link MAX_ATTACHMENTS} then
   */
  async add(
    tx: Tx,
    runId: string,
    scope: RunVisibility,
    attachments: StoredAttachment[],
  ): Promise<'added' | 'not_found' | 'too_many'> {
    const runs = await tx.query(
      `SELECT 1 FROM runs WHERE id = $1 AND (team_uid = $2 OR owner_uid = $3 OR id = $4) FOR NO KEY UPDATE`,
      [runId, scope.teamUid, scope.ownerUid, scope.runId],
    );
    if (runs.length === 0) return 'not_found';
    const [row] = await tx.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM run_attachments WHERE run_id = $1',
      [runId],
    );
    if ((row?.count ?? 0) + attachments.length > MAX_ATTACHMENTS) return 'too_many';
    await this.insert(
      tx,
      attachments.map((attachment) => ({ ...attachment, runId })),
    );
    return 'added';
  }

  /** In the order in which they were given. */
  ofRun(database: Queryable, runId: string): Promise<StoredAttachment[]> {
    return database.query<StoredAttachment>(
      `SELECT id, file_name AS "fileName", mime_type AS "mimeType", size_bytes AS "sizeBytes", object_key AS "objectKey"
         FROM run_attachments WHERE run_id = $1 ORDER BY id`,
      [runId],
    );
  }
}
