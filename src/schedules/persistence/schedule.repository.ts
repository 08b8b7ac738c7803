import { Injectable } from '@nestjs/common';
import { type AccountCaller, ownedBy, type Ownership } from '../../identities/index.js';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { Schedule, ScheduleSettings } from '../domain/schedule.js';

/** Of a team, and of a person. */
export const MAX_SCHEDULES = 1_000;

/** The caller owns `s`: their team ($1) or they in person ($2). */
const OWNED = '(s.team_uid = $1 OR s.owner_uid = $2)';

const COLUMNS = `s.id, s.team_uid AS "teamUid", s.owner_uid AS "ownerUid", s.name, s.prompt, s.mode, s.agent_uid AS "agentUid",
  s.agent_config AS "agentConfig", s.skill_spec AS "skillSpec", s.metadata, s.created_by AS "createdBy",
  s.updated_by AS "updatedBy", s.created_at AS "createdAt", s.updated_at AS "updatedAt", t.cron, t.timezone,
  t.catch_up_minutes AS "catchUpMinutes", t.enabled, t.anchor_at AS anchor, t.next_tick_at AS "nextTickAt",
  t.last_ran_at AS "lastRanAt", t.last_error AS "lastError"`;
const SCHEDULES = 'schedules s JOIN cron_triggers t ON t.id = s.id';

/** A row, where null stands for what was not given. */
type Row = Omit<Schedule, 'agentConfig'> & { agentConfig: Schedule['agentConfig'] | null };

/** A skill that schedules are about to need, and in whose name it is read. */
export interface DueSkill {
  teamUid: string | null;
  createdBy: string;
  skillSpec: string;
}

/** Schedules. What belongs to their triggers is read here and written through `CronTriggers`. */
@Injectable()
export class ScheduleRepository {
  /** False where the owner has as many as they may have. */
  async insert(
    tx: Tx,
    schedule: {
      id: string;
      owner: Ownership;
      settings: ScheduleSettings;
      skillSpec?: string;
      createdBy: string;
    },
  ): Promise<boolean> {
    const { teamUid, ownerUid } = schedule.owner;
    // Two that count at the same time would both find room: they take turns. A statement of its own, since a statement counts what
    // had been committed when it began.
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('schedules of ' || $1::text, 0))`, [
      teamUid ?? ownerUid,
    ]);
    const { settings } = schedule;
    const rows = await tx.query<{ xid: string }>(
      `INSERT INTO schedules (id, team_uid, owner_uid, name, prompt, mode, agent_uid, agent_config, skill_spec, metadata,
                              created_by, updated_by)
       SELECT $1, $2::uuid, $3::uuid, $4, $5, $6, $7::uuid, $8::jsonb, $9, $10::jsonb, $11::uuid, $11::uuid
        WHERE (SELECT count(*) FROM schedules WHERE team_uid = $2 OR owner_uid = $3) < ${String(MAX_SCHEDULES)}
       RETURNING pg_current_xact_id()::text AS xid`,
      [
        schedule.id,
        teamUid,
        ownerUid,
        settings.name,
        settings.prompt,
        settings.mode,
        settings.agentUid,
        settings.agentConfig === undefined ? null : JSON.stringify(settings.agentConfig),
        schedule.skillSpec ?? null,
        JSON.stringify(settings.metadata),
        schedule.createdBy,
      ],
    );
    // Clients send no idempotency key with it: a commit whose answer is lost has to be looked up.
    if (rows[0] !== undefined) tx.noteId(rows[0].xid);
    return rows.length === 1;
  }

  /** Replaces what was set; without an `agentConfig` that and its skill stay. */
  async replace(
    tx: Tx,
    id: string,
    settings: ScheduleSettings,
    skillSpec: string | undefined,
    updatedBy: string,
  ): Promise<void> {
    await tx.query(
      `UPDATE schedules SET name = $2, prompt = $3, mode = $4, agent_uid = $5, metadata = $6,
              agent_config = CASE WHEN $7 THEN $8::jsonb ELSE agent_config END,
              skill_spec = CASE WHEN $7 THEN $9 ELSE skill_spec END,
              updated_by = $10, updated_at = now()
        WHERE id = $1`,
      [
        id,
        settings.name,
        settings.prompt,
        settings.mode,
        settings.agentUid,
        JSON.stringify(settings.metadata),
        settings.agentConfig !== undefined,
        settings.agentConfig === undefined ? null : JSON.stringify(settings.agentConfig),
        skillSpec ?? null,
        updatedBy,
      ],
    );
  }

  /** Notes that somebody changed it. */
  async touch(tx: Tx, id: string, updatedBy: string): Promise<void> {
    await tx.query('UPDATE schedules SET updated_by = $2, updated_at = now() WHERE id = $1', [id, updatedBy]);
  }

  /** False where the caller owns no such schedule. Its trigger is left to `CronTriggers`. */
  async delete(tx: Tx, caller: AccountCaller, id: string): Promise<boolean> {
    const rows = await tx.query(`DELETE FROM schedules s WHERE ${OWNED} AND s.id = $3 RETURNING s.id`, [
      ...parametersOf(caller),
      id,
    ]);
    return rows.length === 1;
  }

  /** What the caller owns, at most {@link MAX_SCHEDULES} of the team and as many of their own; by name, whatever its case. */
  async list(database: Queryable, caller: AccountCaller): Promise<Schedule[]> {
    const rows = await database.query<Row>(
      `SELECT ${COLUMNS} FROM ${SCHEDULES} WHERE ${OWNED} ORDER BY lower(s.name), s.id`,
      parametersOf(caller),
    );
    return rows.map(toSchedule);
  }

  /** Undefined for a schedule that the caller may not know of. */
  async find(database: Queryable, caller: AccountCaller, id: string): Promise<Schedule | undefined> {
    const rows = await database.query<Row>(
      `SELECT ${COLUMNS} FROM ${SCHEDULES} WHERE ${OWNED} AND s.id = $3`,
      [...parametersOf(caller), id],
    );
    return rows.map(toSchedule)[0];
  }

  /** The schedule, if the caller owns it, which nobody else changes until the transaction ends. */
  async lock(tx: Tx, caller: AccountCaller, id: string): Promise<Schedule | undefined> {
    const locked = await tx.query(`SELECT FROM schedules s WHERE ${OWNED} AND s.id = $3 FOR UPDATE`, [
      ...parametersOf(caller),
      id,
    ]);
    return locked.length === 0 ? undefined : this.find(tx, caller, id);
  }

  /** Whoever owns them. */
  async findAll(database: Queryable, ids: string[]): Promise<Schedule[]> {
    const rows = await database.query<Row>(`SELECT ${COLUMNS} FROM ${SCHEDULES} WHERE s.id = ANY ($1)`, [
      ids,
    ]);
    return rows.map(toSchedule);
  }

  /** The skills of what is due by the moment, the longest due first. */
  dueSkills(database: Queryable, now: Date, limit: number): Promise<DueSkill[]> {
    return database.query<DueSkill>(
      `SELECT s.team_uid AS "teamUid", s.created_by AS "createdBy", s.skill_spec AS "skillSpec" FROM ${SCHEDULES}
        WHERE t.next_tick_at <= $1 AND s.skill_spec IS NOT NULL
        GROUP BY 1, 2, 3 ORDER BY min(t.next_tick_at) LIMIT $2`,
      [now, limit],
    );
  }
}

/** $1 and $2 of every statement that asks who the caller is. */
const parametersOf = (caller: AccountCaller): (string | null)[] => {
  const { teamUid, ownerUid } = ownedBy(caller);
  return [teamUid, ownerUid];
};

const toSchedule = (row: Row): Schedule => ({ ...row, agentConfig: row.agentConfig ?? undefined });
