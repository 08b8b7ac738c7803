import { Injectable } from '@nestjs/common';
import { SkillRuns, type SkillRunsScope } from '../../catalog/index.js';
import { Database } from '../../kernel/persistence/database.js';

/** What the catalogue shows of runs beside a skill. */
@Injectable()
export class SkillRunsReadModel extends SkillRuns {
  constructor(private readonly database: Database) {
    super();
  }

  /** Walks the index `runs_skill` backwards from each skill's latest run to the first one in the scope. */
  override async lastRuns(skillSpecs: string[], scope: SkillRunsScope): Promise<Map<string, Date>> {
    if (skillSpecs.length === 0) return new Map();
    const rows = await this.database.query<{ spec: string; created_at: Date }>(
      `SELECT s.spec, r.created_at
         FROM unnest($1::text[]) AS s (spec)
        CROSS JOIN LATERAL (
          SELECT created_at FROM runs
           WHERE skill_spec = s.spec AND (team_uid = $2 OR owner_uid = $3)
           ORDER BY created_at DESC, id DESC LIMIT 1
        ) r`,
      [skillSpecs, scope.teamUid, scope.ownerUid],
    );
    return new Map(rows.map((row) => [row.spec, row.created_at]));
  }
}
