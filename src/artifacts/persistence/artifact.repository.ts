import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import type { ArtifactType, FileType, PlanContent } from '../domain/artifact.js';

/** Of one run: what lists show with each run stays bounded. */
export const MAX_ARTIFACTS = 100;

export interface ArtifactToStore {
  uid: string;
  runId: string;
  scopeUid: string;
  type: ArtifactType;
  identity: string;
  data: object;
  objectKey?: string;
  sizeBytes?: number;
}

export interface UploadRow {
  uid: string;
  type: FileType;
  mimeType: string;
  objectKey: string;
}

/** Writes of artifacts, and of the uploads that become artifacts. */
@Injectable()
export class ArtifactRepository {
  /**
   * Stores the artifact, or finds the one of its run with the same identity, of which what was reported is replaced.
   *
   * @returns undefined when the run has {@link MAX_ARTIFACTS} others
   */
  async store(tx: Tx, artifact: ArtifactToStore): Promise<string | undefined> {
    const rows = await tx.query<{ uid: string }>(
      `INSERT INTO artifacts AS a (uid, run_id, scope_uid, artifact_type, identity, data, object_key, size_bytes)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8
        WHERE EXISTS (SELECT 1 FROM artifacts WHERE run_id = $2 AND artifact_type = $4 AND identity = $5)
           OR (SELECT count(*) FROM artifacts WHERE run_id = $2) < ${String(MAX_ARTIFACTS)}
       ON CONFLICT (run_id, artifact_type, identity) DO UPDATE SET data = EXCLUDED.data
       RETURNING uid`,
      [
        artifact.uid,
        artifact.runId,
        artifact.scopeUid,
        artifact.type,
        artifact.identity,
        JSON.stringify(artifact.data),
        artifact.objectKey ?? null,
        artifact.sizeBytes ?? null,
      ],
    );
    return rows[0]?.uid;
  }

  /** Adds a version of a plan's content, unless it is the current one. The artifact's row, stored before, makes reports take turns. */
  async addPlanVersion(tx: Tx, uid: string, { content, content_type }: PlanContent): Promise<void> {
    await tx.query(
      `WITH latest AS (
         SELECT version, content, content_type FROM artifact_plan_versions
          WHERE artifact_uid = $1 ORDER BY version DESC LIMIT 1
       )
       INSERT INTO artifact_plan_versions (artifact_uid, version, content, content_type)
       SELECT $1, coalesce((SELECT version FROM latest), 0) + 1, $2, $3
        WHERE NOT EXISTS (SELECT 1 FROM latest WHERE content = $2 AND content_type = $3)`,
      [uid, content, content_type],
    );
  }

  /** @returns false when there is no such artifact within the scopes */
  async setPublic(tx: Tx, uid: string, scopeUids: string[], isPublic: boolean): Promise<boolean> {
    const rows = await tx.query(
      'UPDATE artifacts SET public = $3 WHERE uid = $1 AND scope_uid = ANY ($2::uuid[]) RETURNING uid',
      [uid, scopeUids, isPublic],
    );
    return rows.length === 1;
  }

  /** @returns false when the run has as many uploads and artifacts as it may */
  async openUpload(tx: Tx, runId: string, upload: UploadRow): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO artifact_uploads (uid, run_id, artifact_type, mime_type, object_key)
       SELECT $1, $2, $3, $4, $5
        WHERE (SELECT count(*) FROM artifact_uploads WHERE run_id = $2)
            + (SELECT count(*) FROM artifacts WHERE run_id = $2) < ${String(MAX_ARTIFACTS)}
       RETURNING uid`,
      [upload.uid, runId, upload.type, upload.mimeType, upload.objectKey],
    );
    return rows.length === 1;
  }

  /** The upload of the run, locked until its report is stored; undefined when there is none. */
  async lockUpload(tx: Tx, runId: string, uid: string, type: FileType): Promise<UploadRow | undefined> {
    const rows = await tx.query<UploadRow>(
      `SELECT uid, artifact_type AS type, mime_type AS "mimeType", object_key AS "objectKey"
         FROM artifact_uploads WHERE uid = $1 AND run_id = $2 AND artifact_type = $3 FOR UPDATE`,
      [uid, runId, type],
    );
    return rows[0];
  }

  /** Whether the upload has become an artifact already. */
  async isReported(tx: Tx, runId: string, uid: string, type: FileType): Promise<boolean> {
    const rows = await tx.query(
      'SELECT 1 FROM artifacts WHERE uid = $1 AND run_id = $2 AND artifact_type = $3',
      [uid, runId, type],
    );
    return rows.length === 1;
  }

  /** The upload has become an artifact, which has its object now. */
  async closeUpload(tx: Tx, uid: string): Promise<void> {
    await tx.query('DELETE FROM artifact_uploads WHERE uid = $1', [uid]);
  }

  /** Forgets uploads that nobody has reported within a day; their objects are deleted with them. */
  async expireUploads(tx: Tx, limit: number): Promise<void> {
    await tx.query(
      `DELETE FROM artifact_uploads WHERE uid IN (
         SELECT uid FROM artifact_uploads WHERE created_at < now() - interval '1 day'
          ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
      [limit],
    );
  }
}
