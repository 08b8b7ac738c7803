import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

/** Of one run, over all of its executions. */
export const MAX_SNAPSHOT_FILES = 100;

export interface SnapshotFileRow {
  id: string;
  fileName: string;
  mimeType: string;
  objectKey: string;
}

/** The files of the snapshots that executions leave behind. */
@Injectable()
export class SnapshotRepository {
  /**
   * Adds the file to the execution's snapshot, or finds the one of that name.
   *
   * @returns undefined when the run has {@link MAX_SNAPSHOT_FILES} others
   */
  async add(
    tx: Tx,
    { runId, executionId }: { runId: string; executionId: number },
    file: SnapshotFileRow,
  ): Promise<{ objectKey: string } | undefined> {
    const rows = await tx.query<{ objectKey: string }>(
      `INSERT INTO snapshot_files (id, run_id, execution_id, file_name, mime_type, object_key)
       SELECT $1, $2, $3, $4, $5, $6
        WHERE EXISTS (SELECT 1 FROM snapshot_files WHERE run_id = $2 AND execution_id = $3 AND file_name = $4)
           OR (SELECT count(*) FROM snapshot_files WHERE run_id = $2) < ${String(MAX_SNAPSHOT_FILES)}
       ON CONFLICT (run_id, execution_id, file_name) DO UPDATE SET mime_type = EXCLUDED.mime_type
       RETURNING object_key AS "objectKey"`,
      [file.id, runId, executionId, file.fileName, file.mimeType, file.objectKey],
    );
    return rows[0];
  }

  /** In the order in which they were added. */
  ofExecution(database: Queryable, runId: string, executionId: number): Promise<SnapshotFileRow[]> {
    return database.query<SnapshotFileRow>(
      `SELECT id, file_name AS "fileName", mime_type AS "mimeType", object_key AS "objectKey"
         FROM snapshot_files WHERE run_id = $1 AND execution_id = $2 ORDER BY id`,
      [runId, executionId],
    );
  }
}
