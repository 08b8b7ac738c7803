import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { ArtifactView, PlanContent } from '../domain/artifact.js';

/** What a caller may see: the artifacts of runs that these teams and people own, or, for a run's own agent, of that run. */
export interface ArtifactVisibility {
  scopeUids: string[];
  runId: string | null;
}

const COLUMNS = `a.uid, a.run_id, a.scope_uid, a.artifact_type, a.data, a.public, a.object_key,
  a.size_bytes::float8 AS size_bytes, a.created_at`;

/** Artifacts, as they are read. */
@Injectable()
export class ArtifactReadModel {
  constructor(private readonly database: Database) {}

  async find(uid: string): Promise<ArtifactView | undefined> {
    const rows = await this.database.query<ArtifactView>(
      `SELECT ${COLUMNS} FROM artifacts a WHERE a.uid = $1`,
      [uid],
    );
    return rows[0];
  }

  /** One query for all of the runs; the earliest first. */
  async ofRuns(runIds: string[]): Promise<Map<string, ArtifactView[]>> {
    if (runIds.length === 0) return new Map();
    const rows = await this.database.query<ArtifactView>(
      `SELECT ${COLUMNS} FROM artifacts a WHERE a.run_id = ANY ($1) ORDER BY a.created_at, a.uid`,
      [runIds],
    );
    const artifacts = new Map<string, ArtifactView[]>(runIds.map((runId) => [runId, []]));
    for (const row of rows) artifacts.get(row.run_id)?.push(row);
    return artifacts;
  }

  /** The run that was the last to report the reference, of those that may be seen. */
  async latestReporter(
    identity: string,
    { scopeUids, runId }: ArtifactVisibility,
  ): Promise<string | undefined> {
    const rows = await this.database.query<{ run_id: string }>(
      `SELECT run_id FROM artifacts
        WHERE identity = $1 AND artifact_type = 'EXTERNAL_REFERENCE' AND (scope_uid = ANY ($2::uuid[]) OR run_id = $3)
        ORDER BY created_at DESC, uid DESC LIMIT 1`,
      [identity, scopeUids, runId],
    );
    return rows[0]?.run_id;
  }

  /** The current content of a plan; undefined when it was reported without any. */
  async planContent(uid: string): Promise<PlanContent | undefined> {
    const rows = await this.database.query<PlanContent>(
      `SELECT content, content_type FROM artifact_plan_versions
        WHERE artifact_uid = $1 ORDER BY version DESC LIMIT 1`,
      [uid],
    );
    return rows[0];
  }
}
