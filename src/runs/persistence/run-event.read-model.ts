import { Injectable } from '@nestjs/common';
import { Database } from '../../kernel/persistence/database.js';
import type { FollowedRuns, RunEventView, RunSelection } from '../domain/run-event.js';
import { ROOT_RUN } from './run-event-log.js';
import type { RunVisibility } from './run.read-model.js';

/** What a caller may follow: $1 team, $2 owner, $3 the run of a run's own key, whose descendants count with it. */
const VISIBLE = '(r.team_uid = $1 OR r.owner_uid = $2 OR r.id = $3 OR r.ancestor_ids @> ARRAY[$3::uuid])';
const COLUMNS = 'e.event_type, e.run_id, e.ref_id, e.execution_id, e.occurred_at, e.sequence';

type Row = Omit<RunEventView, 'sequence'> & { sequence: string };

/** Events as they are read: in the order of their numbers, a page at a time. */
@Injectable()
export class RunEventReadModel {
  constructor(private readonly database: Database) {}

  /** Undefined when one of the runs does not exist or may not be seen. */
  async resolve(selection: RunSelection, visibility: RunVisibility): Promise<FollowedRuns | undefined> {
    const wanted = 'runIds' in selection ? [...new Set(selection.runIds)] : [selection.ancestorRunId];
    const rows = await this.database.query<{ id: string; root_run_id: string }>(
      `SELECT r.id, ${ROOT_RUN} AS root_run_id FROM runs r WHERE r.id = ANY ($4::uuid[]) AND ${VISIBLE}`,
      [...parameters(visibility), wanted],
    );
    const [first] = rows;
    if (rows.length !== wanted.length || first === undefined) return undefined;
    return 'runIds' in selection
      ? { kind: 'runs', runIds: wanted }
      : { kind: 'tree', rootRunId: first.root_run_id, ...selection };
  }

  /** The next events after the given number. What may be seen is judged again with each page. */
  async page(
    followed: FollowedRuns,
    visibility: RunVisibility,
    since: number,
    limit: number,
  ): Promise<RunEventView[]> {
    const rows =
      followed.kind === 'runs'
        ? await this.database.query<Row>(
            `SELECT e.* FROM unnest($6::uuid[]) AS f (run_id) JOIN runs r ON r.id = f.run_id AND ${VISIBLE}
              CROSS JOIN LATERAL (
                    SELECT ${COLUMNS} FROM run_events e
                     WHERE e.run_id = f.run_id AND e.sequence > $4 ORDER BY e.sequence LIMIT $5) e
              ORDER BY e.sequence LIMIT $5`,
            [...parameters(visibility), since, limit, followed.runIds],
          )
        : await this.database.query<Row>(
            `SELECT ${COLUMNS} FROM run_events e JOIN runs r ON r.id = e.run_id AND ${VISIBLE}
              WHERE e.root_run_id = $6 AND e.sequence > $4
                AND (r.ancestor_ids @> ARRAY[$7::uuid] OR ($8 AND r.id = $7))
              ORDER BY e.sequence LIMIT $5`,
            [
              ...parameters(visibility),
              since,
              limit,
              followed.rootRunId,
              followed.ancestorRunId,
              followed.includeSelf,
            ],
          );
    return rows.map((row) => ({ ...row, sequence: Number(row.sequence) }));
  }

  /** The number of the latest event of all. */
  async latest(): Promise<number> {
    const rows = await this.database.query<{ sequence: string | null }>(
      'SELECT max(sequence) AS sequence FROM run_events WHERE sequence IS NOT NULL',
    );
    return Number(rows[0]?.sequence ?? 0);
  }

  /** Whom the next events after the given number are about, and the number of the last one looked at. */
  async heard(
    since: number,
    limit: number,
  ): Promise<{ runId: string; rootRunId: string; sequence: number }[]> {
    const rows = await this.database.query<{ run_id: string; root_run_id: string; sequence: string }>(
      'SELECT run_id, root_run_id, sequence FROM run_events WHERE sequence > $1 ORDER BY sequence LIMIT $2',
      [since, limit],
    );
    return rows.map((row) => ({
      runId: row.run_id,
      rootRunId: row.root_run_id,
      sequence: Number(row.sequence),
    }));
  }
}

const parameters = ({ teamUid, ownerUid, runId }: RunVisibility): unknown[] => [teamUid, ownerUid, runId];
