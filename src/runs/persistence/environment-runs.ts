import { Injectable } from '@nestjs/common';
import { EnvironmentRuns, type LatestRun } from '../../catalog/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { RunErrorCode } from '../domain/status-message.js';

const SETUP_FAILED: RunErrorCode = 'environment_setup_failed';

/** What the catalogue shows of runs. */
@Injectable()
export class EnvironmentRunsReadModel extends EnvironmentRuns {
  constructor(private readonly database: Database) {
    super();
  }

  /** Reads one entry of the index `runs_environment` for each environment, however many runs it has had. */
  override async latest(environmentUids: string[]): Promise<Map<string, LatestRun>> {
    if (environmentUids.length === 0) return new Map();
    const rows = await this.database.query<LatestRun & { environmentUid: string }>(
      `SELECT e.uid AS "environmentUid", r.id, r.title, r.state, r.created_at AS "createdAt", r.updated_at AS "updatedAt",
              r.started_at AS "startedAt", r.team_uid AS "teamUid", r.owner_uid AS "ownerUid",
              r.state = 'FAILED' AND coalesce(r.status_message->>'error_code' = $2, false) AS "setupFailed"
         FROM unnest($1::text[]) AS e (uid)
        CROSS JOIN LATERAL (SELECT * FROM runs WHERE environment_id = e.uid ORDER BY created_at DESC, id DESC LIMIT 1) r`,
      [environmentUids, SETUP_FAILED],
    );
    return new Map(rows.map(({ environmentUid, ...run }) => [environmentUid, run]));
  }
}
