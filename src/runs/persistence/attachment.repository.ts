import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';

/** A file of a run whose bytes lie in object storage. */
export interface StoredAttachment {
  id: string;
  fileName: string;
  mimeType: string;
  sizeBytes: number;
  objectKey: string;
}

/** The files that runs were created with. */
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

  /** In the order in which they were given. */
  ofRun(database: Queryable, runId: string): Promise<StoredAttachment[]> {
    return database.query<StoredAttachment>(
      `SELECT id, file_name AS "fileName", mime_type AS "mimeType", size_bytes AS "sizeBytes", object_key AS "objectKey"
         FROM run_attachments WHERE run_id = $1 ORDER BY id`,
      [runId],
    );
  }
}
