import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

/** Of one run, over all of its executions. */
export const MAX_SNAPSHOT_FILES = 100;

/** Of the files that an execution leaves behind at its end: they are in no checkpoint. */
export const AT_THE_END = -1;

export interface SnapshotFileRow {
  id: string;
  fileName: string;
  mimeType: string;
  objectKey: string;
  /** Of its checkpoint, or {@link AT_THE_END}. */
  generation: number;
}

interface Execution {
  runId: string;
  executionId: number;
}

const COLUMNS = `f.id, f.file_name AS "fileName", f.mime_type AS "mimeType", f.object_key AS "objectKey",
  f.generation::float8 AS generation`;

/** The files of the snapshots that executions leave behind. */
@Injectable()
export class SnapshotRepository {
  /**
   * Adds the file to what the execution leaves behind, or to one of its checkpoints, or finds the one of that name there.
   *
   * @returns undefined when the run has {@link MAX_SNAPSHOT_FILES} others
   */
  async add(
    tx: Tx,
    { runId, executionId }: Execution,
    file: SnapshotFileRow,
  ): Promise<{ objectKey: string } | undefined> {
    const rows = await tx.query<{ objectKey: string }>(
      `INSERT INTO snapshot_files (id, run_id, execution_id, generation, file_name, mime_type, object_key)
       SELECT $1, $2, $3, $7, $4, $5, $6
        WHERE EXISTS (SELECT 1 FROM snapshot_files
                       WHERE run_id = $2 AND execution_id = $3 AND generation = $7 AND file_name = $4)
           OR (SELECT count(*) FROM snapshot_files WHERE run_id = $2) < ${String(MAX_SNAPSHOT_FILES)}
       ON CONFLICT (run_id, execution_id, generation, file_name) DO UPDATE SET mime_type = EXCLUDED.mime_type
       RETURNING object_key AS "objectKey"`,
      [file.id, runId, executionId, file.fileName, file.mimeType, file.objectKey, file.generation],
    );
    return rows[0];
  }

  /** What it left behind at its end, and its committed checkpoint; in the order in which they were added. */
  ofExecution(database: Queryable, { runId, executionId }: Execution): Promise<SnapshotFileRow[]> {
    return database.query<SnapshotFileRow>(
      `SELECT ${COLUMNS} FROM snapshot_files f
        WHERE run_id = $1 AND execution_id = $2
          AND (generation = ${String(AT_THE_END)} OR EXISTS (
                SELECT 1 FROM snapshot_checkpoints c
                 WHERE c.run_id = f.run_id AND c.execution_id = f.execution_id AND c.generation = f.generation))
        ORDER BY id`,
      [runId, executionId],
    );
  }

  /** Those of one checkpoint, committed or not. */
  ofCheckpoint(
    database: Queryable,
    { runId, executionId }: Execution,
    generation: number,
  ): Promise<SnapshotFileRow[]> {
    return database.query<SnapshotFileRow>(
      `SELECT ${COLUMNS} FROM snapshot_files f WHERE run_id = $1 AND execution_id = $2 AND generation = $3 ORDER BY id`,
      [runId, executionId, generation],
    );
  }

  /** The generation that the execution has committed; undefined when it has none. */
  async committed(database: Queryable, { runId, executionId }: Execution): Promise<number | undefined> {
    const rows = await database.query<{ generation: number }>(
      `SELECT generation::float8 AS generation FROM snapshot_checkpoints WHERE run_id = $1 AND execution_id = $2`,
      [runId, executionId],
    );
    return rows[0]?.generation;
  }

  /**
   * From now on the execution's checkpoint is this one, with these files of it alone. Earlier ones are forgotten, and their objects with them.
   *
   * @returns false when a later one is committed already
   */
  async commit(
    tx: Tx,
    { runId, executionId }: Execution,
    generation: number,
    fileNames: string[],
  ): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO snapshot_checkpoints AS c (run_id, execution_id, generation) VALUES ($1, $2, $3)
       ON CONFLICT (run_id, execution_id) DO UPDATE SET generation = EXCLUDED.generation
        WHERE c.generation <= EXCLUDED.generation
       RETURNING generation`,
      [runId, executionId, generation],
    );
    if (rows.length === 0) return false;
    await tx.query(
      `DELETE FROM snapshot_files
        WHERE run_id = $1 AND execution_id = $2 AND generation > ${String(AT_THE_END)}
          AND (generation < $3 OR (generation = $3 AND file_name <> ALL ($4::text[])))`,
      [runId, executionId, generation, fileNames],
    );
    return true;
  }
}
