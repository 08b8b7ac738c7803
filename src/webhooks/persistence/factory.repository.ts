import { Injectable } from '@nestjs/common';
import { newUuid } from '../../kernel/ids.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { DEFAULT_FACTORY_NAME, type Factory, type FactoryMode } from '../domain/factory.js';

const MAX_FACTORIES = 1_000;

const COLUMNS = `uid, team_uid AS "teamUid", name, mode, created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Factories of teams. Their names are unique in a team, in whatever case. */
@Injectable()
export class FactoryRepository {
  /** The oldest first. */
  list(database: Queryable, teamUid: string): Promise<Factory[]> {
    return database.query<Factory>(
      `SELECT ${COLUMNS} FROM factories WHERE team_uid = $1 ORDER BY created_at, uid`,
      [teamUid],
    );
  }

  async find(database: Queryable, teamUid: string, uid: string): Promise<Factory | undefined> {
    const rows = await database.query<Factory>(
      `SELECT ${COLUMNS} FROM factories WHERE uid = $1 AND team_uid = $2`,
      [uid, teamUid],
    );
    return rows[0];
  }

  /** Makes the transactions that edit what belongs to the factory take turns. @returns undefined when it is gone */
  async lock(tx: Tx, uid: string): Promise<FactoryMode | undefined> {
    const rows = await tx.query<{ mode: FactoryMode }>(
      `SELECT mode FROM factories WHERE uid = $1 FOR NO KEY UPDATE`,
      [uid],
    );
    return rows[0]?.mode;
  }

  /** Makes the team's default factory unless it is there. */
  async insertDefault(tx: Tx, teamUid: string): Promise<void> {
    await tx.query(
      `INSERT INTO factories (uid, team_uid, name) VALUES ($1, $2, $3)
       ON CONFLICT (team_uid, lower(name)) DO NOTHING`,
      [newUuid(), teamUid, DEFAULT_FACTORY_NAME],
    );
  }

  async insert(
    tx: Tx,
    teamUid: string,
    factory: { name: string; mode: FactoryMode },
  ): Promise<Factory | 'name_taken' | 'limit_reached'> {
    await this.takeTurns(tx, teamUid);
    const rows = await tx.query<{ full: boolean }>(
      `SELECT count(*) >= $2 AS full FROM factories WHERE team_uid = $1`,
      [teamUid, MAX_FACTORIES],
    );
    if (rows[0]?.full) return 'limit_reached';
    const inserted = await tx.query<Factory>(
      `INSERT INTO factories (uid, team_uid, name, mode) VALUES ($1, $2, $3, $4)
       ON CONFLICT (team_uid, lower(name)) DO NOTHING RETURNING ${COLUMNS}`,
      [newUuid(), teamUid, factory.name, factory.mode],
    );
    return inserted[0] ?? 'name_taken';
  }

  /** Changes what is given; undefined leaves it as it is. */
  async update(
    tx: Tx,
    factory: Factory,
    change: { name?: string; mode?: FactoryMode },
  ): Promise<Factory | 'name_taken' | 'gone'> {
    await this.takeTurns(tx, factory.teamUid);
    const taken = await tx.query(
      `SELECT FROM factories WHERE team_uid = $1 AND lower(name) = lower($2) AND uid <> $3`,
      [factory.teamUid, change.name ?? null, factory.uid],
    );
    if (taken.length > 0) return 'name_taken';
    const rows = await tx.query<Factory>(
      `UPDATE factories SET name = coalesce($2, name), mode = coalesce($3, mode), updated_at = now()
        WHERE uid = $1 RETURNING ${COLUMNS}`,
      [factory.uid, change.name ?? null, change.mode ?? null],
    );
    return rows[0] ?? 'gone';
  }

  /** Deletes the factory and all that belongs to it. @returns its webhooks of before; undefined when it was gone */
  async delete(tx: Tx, uid: string): Promise<string[] | undefined> {
    const rows = await tx.query<{ webhooks: string[] }>(
      `DELETE FROM factories f WHERE uid = $1
       RETURNING ARRAY(SELECT w.uid FROM webhooks w WHERE w.factory_uid = f.uid AND w.deleted_at IS NULL) AS webhooks`,
      [uid],
    );
    return rows[0]?.webhooks;
  }

  /** What gives a factory of the team its name waits here for its turn, so that what it looked up stays true until it commits. */
  private async takeTurns(tx: Tx, teamUid: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('factories ' || $1, 0))`, [teamUid]);
  }
}
