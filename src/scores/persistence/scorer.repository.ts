import { Injectable } from '@nestjs/common';
import type { Harness } from '../../identities/index.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { violatesUnique } from '../../kernel/persistence/sqlstate.js';
import type { GradingScorer } from '../domain/evaluation.js';
import { type Label, MAX_SCORERS, type Scorer, type ScorerSettings } from '../domain/scorer.js';

/** Whose a scorer is: a team's, made by the API or by the definition of one of its factories. */
export interface ScorerOwner {
  teamUid: string;
  /** Null: made by the API. */
  factoryUid: string | null;
}

interface ScorerRow {
  id: number;
  factory_uid: string | null;
  name: string;
  rubric: string;
  agent_uids: string[];
  labels: Label[];
  passing_score: number;
  sampling_rate: number;
  model_id: string | null;
  harness: Harness | null;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = `id, factory_uid, name, rubric, agent_uids, labels, passing_score, sampling_rate, model_id, harness,
                 created_at, updated_at`;

/** The table of scorers. */
@Injectable()
export class ScorerRepository {
  /** By name. */
  async list(database: Queryable, teamUid: string): Promise<Scorer[]> {
    return toScorers(
      await database.query<ScorerRow>(
        `SELECT ${COLUMNS} FROM scorers WHERE team_uid = $1 ORDER BY name, id LIMIT ${String(MAX_SCORERS)}`,
        [teamUid],
      ),
    );
  }

  /** Those of a factory's definition, by name. */
  async ofFactory(database: Queryable, factoryUid: string): Promise<Scorer[]> {
    return toScorers(
      await database.query<ScorerRow>(
        `SELECT ${COLUMNS} FROM scorers WHERE factory_uid = $1 ORDER BY name LIMIT ${String(MAX_SCORERS)}`,
        [factoryUid],
      ),
    );
  }

  async find(database: Queryable, teamUid: string, id: number): Promise<Scorer | undefined> {
    const [row] = await database.query<ScorerRow>(
      `SELECT ${COLUMNS} FROM scorers WHERE team_uid = $1 AND id = $2`,
      [teamUid, id],
    );
    return row && toScorer(row);
  }

  /** What decides about grading, of the teams' scorers that grade any of the agents; in the order of their ids. */
  ofAgents(database: Queryable, teamUids: string[], agentUids: string[]): Promise<GradingScorer[]> {
    return this.grading(
      database,
      'team_uid = ANY ($1::uuid[]) AND agent_uids && $2::uuid[] ORDER BY id',
      teamUids,
      agentUids,
    );
  }

  /** The same of those of the named ones that are the team's. They stay as they are until the transaction ends. */
  lockNamed(tx: Tx, teamUid: string, ids: number[]): Promise<GradingScorer[]> {
    return this.grading(tx, 'team_uid = $1 AND id = ANY ($2::int[]) ORDER BY id FOR SHARE', teamUid, ids);
  }

  private async grading(
    database: Queryable,
    which: string,
    ...parameters: unknown[]
  ): Promise<GradingScorer[]> {
    const rows = await database.query<
      Omit<GradingScorer, 'modelId' | 'harness'> & { modelId: string | null; harness: Harness | null }
    >(
      `SELECT id, team_uid AS "teamUid", agent_uids AS "agentUids", sampling_rate AS "samplingRate", model_id AS "modelId", harness
         FROM scorers WHERE ${which}`,
      parameters,
    );
    return rows.map((row) => ({
      ...row,
      modelId: row.modelId ?? undefined,
      harness: row.harness ?? undefined,
    }));
  }

  /** Creates of one team take turns until the transaction ends, so that no two of them count the same rows. */
  async insert(
    tx: Tx,
    owner: ScorerOwner,
    settings: ScorerSettings,
  ): Promise<Scorer | 'name_taken' | 'limit_reached'> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('scorers ' || $1, 0))`, [owner.teamUid]);
    const [present] = await tx.query<{ is_full: boolean }>(
      'SELECT count(*) >= $2 AS is_full FROM scorers WHERE team_uid = $1',
      [owner.teamUid, MAX_SCORERS],
    );
    if (present?.is_full) return 'limit_reached';
    const rows = await tx.query<ScorerRow>(
      `INSERT INTO scorers (name, rubric, agent_uids, labels, passing_score, sampling_rate, model_id, harness,
                            team_uid, factory_uid)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
      [...valuesOf(settings), owner.teamUid, owner.factoryUid],
    );
    return rows[0] === undefined ? 'name_taken' : toScorer(rows[0]);
  }

  /** @returns undefined when the team has no such scorer that was made by the API */
  async replace(
    tx: Tx,
    teamUid: string,
    id: number,
    settings: ScorerSettings,
  ): Promise<Scorer | 'name_taken' | undefined> {
    try {
      const rows = await tx.query<ScorerRow>(
        `UPDATE scorers SET ${ASSIGNMENTS} WHERE team_uid = $9 AND id = $10 AND factory_uid IS NULL RETURNING ${COLUMNS}`,
        [...valuesOf(settings), teamUid, id],
      );
      return rows[0] && toScorer(rows[0]);
    } catch (error) {
      if (violatesUnique(error, 'scorers_name_of_team')) return 'name_taken';
      throw error;
    }
  }

  /** @returns undefined when the definition of the factory has no scorer of that name */
  async replaceOfFactory(tx: Tx, factoryUid: string, settings: ScorerSettings): Promise<Scorer | undefined> {
    const rows = await tx.query<ScorerRow>(
      `UPDATE scorers SET ${ASSIGNMENTS} WHERE factory_uid = $9 AND name = $1 RETURNING ${COLUMNS}`,
      [...valuesOf(settings), factoryUid],
    );
    return rows[0] && toScorer(rows[0]);
  }

  /** @returns whether the team had such a scorer that was made by the API */
  async delete(tx: Tx, teamUid: string, id: number): Promise<boolean> {
    const rows = await tx.query(
      'DELETE FROM scorers WHERE team_uid = $1 AND id = $2 AND factory_uid IS NULL RETURNING id',
      [teamUid, id],
    );
    return rows.length === 1;
  }

  /** @returns the names of those that were deleted */
  async deleteOfFactoryExcept(tx: Tx, factoryUid: string, names: string[]): Promise<string[]> {
    const rows = await tx.query<{ name: string }>(
      'DELETE FROM scorers WHERE factory_uid = $1 AND NOT name = ANY ($2::text[]) RETURNING name',
      [factoryUid, names],
    );
    return rows.map(({ name }) => name);
  }
}

const ASSIGNMENTS = `name = $1, rubric = $2, agent_uids = $3, labels = $4, passing_score = $5, sampling_rate = $6,
                     model_id = $7, harness = $8, updated_at = now()`;

/** All that people set: $1 to $8. */
const valuesOf = (settings: ScorerSettings): unknown[] => [
  settings.name,
  settings.rubric,
  settings.agentUids,
  JSON.stringify(settings.labels),
  settings.passingScore,
  settings.samplingRate,
  settings.modelId ?? null,
  settings.harness === undefined ? null : JSON.stringify(settings.harness),
];

const toScorer = (row: ScorerRow): Scorer => ({
  id: row.id,
  factoryUid: row.factory_uid ?? undefined,
  name: row.name,
  rubric: row.rubric,
  agentUids: row.agent_uids,
  labels: row.labels,
  passingScore: row.passing_score,
  samplingRate: row.sampling_rate,
  modelId: row.model_id ?? undefined,
  harness: row.harness ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const toScorers = (rows: ScorerRow[]): Scorer[] => rows.map(toScorer);
