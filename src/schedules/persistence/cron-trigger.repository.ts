import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import { KEPT_TICKS } from '../domain/due-ticks.js';
import type { Tick } from '../domain/tick.js';
import type { DueTrigger, Trigger } from '../domain/trigger.js';

const TRIGGER_COLUMNS = `id, kind, cron, timezone, anchor_at AS anchor, catch_up_minutes AS "catchUpMinutes", enabled,
  next_tick_at AS "nextTickAt", reckoned_at AS "reckonedAt"`;

/** How far the clock may fall back before what was reckoned with it counts as wrong: replicas of a database differ by less. */
const CLOCK_TOLERANCE = `interval '5 seconds'`;

/** $1 the time. */
const RECKONED_AHEAD = `next_tick_at IS NOT NULL AND reckoned_at > $1::timestamptz + ${CLOCK_TOLERANCE}`;

/** What became of a trigger whose ticks were dealt with. */
export interface Advance {
  id: string;
  nextTickAt: Date | undefined;
  /** Whether a run was created; undefined = the last tick neither made one nor tried to. */
  lastTry: 'ran' | { error: string } | undefined;
}

export interface NewTick {
  triggerId: string;
  tickAt: Date;
  outcome: Tick['outcome'];
  runId?: string;
  reason?: string;
}

/** Triggers and their ticks. */
@Injectable()
export class CronTriggerRepository {
  /** Makes the trigger, or sets it anew; to keep anything of what it was, {@link lock} it before. */
  async put(tx: Tx, trigger: Trigger): Promise<void> {
    await tx.query(
      `INSERT INTO cron_triggers (id, kind, cron, timezone, anchor_at, catch_up_minutes, enabled, next_tick_at, reckoned_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (id) DO UPDATE SET
         cron = excluded.cron, timezone = excluded.timezone, anchor_at = excluded.anchor_at,
         catch_up_minutes = excluded.catch_up_minutes, enabled = excluded.enabled,
         next_tick_at = excluded.next_tick_at, reckoned_at = excluded.reckoned_at`,
      [
        trigger.id,
        trigger.kind,
        trigger.cron,
        trigger.timezone,
        trigger.anchor,
        trigger.catchUpMinutes,
        trigger.enabled,
        trigger.nextTickAt,
        trigger.reckonedAt,
      ],
    );
  }

  /** With its ticks. Waits for a firing of it that is under way. */
  async delete(tx: Tx, id: string): Promise<void> {
    await tx.query('DELETE FROM cron_triggers WHERE id = $1', [id]);
  }

  /** Locks the trigger, so that it is not fired until the transaction ends. */
  async lock(tx: Tx, id: string): Promise<Trigger | undefined> {
    const rows = await tx.query<Trigger>(
      `SELECT ${TRIGGER_COLUMNS} FROM cron_triggers WHERE id = $1 FOR UPDATE`,
      [id],
    );
    return rows[0];
  }

  /** What there is to do: a look at the ends of two indexes. */
  async survey(database: Queryable, now: Date): Promise<{ dueKinds: string[]; clockWasPutBack: boolean }> {
    const rows = await database.query<{ dueKinds: string[]; clockWasPutBack: boolean }>(
      `SELECT ARRAY (SELECT DISTINCT kind FROM cron_triggers WHERE next_tick_at <= $1) AS "dueKinds",
              EXISTS (SELECT FROM cron_triggers WHERE ${RECKONED_AHEAD}) AS "clockWasPutBack"`,
      [now],
    );
    return rows[0] ?? { dueKinds: [], clockWasPutBack: false };
  }

  /** Triggers of a kind that are due, the longest due first. */
  async due(database: Queryable, kind: string, now: Date, limit: number): Promise<string[]> {
    const rows = await database.query<{ id: string }>(
      'SELECT id FROM cron_triggers WHERE next_tick_at <= $1 AND kind = $2 ORDER BY next_tick_at LIMIT $3',
      [now, kind, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** The kind of a trigger that is due; undefined when it is not. */
  async dueKind(database: Queryable, id: string, now: Date): Promise<string | undefined> {
    const rows = await database.query<{ kind: string }>(
      'SELECT kind FROM cron_triggers WHERE id = $1 AND next_tick_at <= $2',
      [id, now],
    );
    return rows[0]?.kind;
  }

  /** How long the longest due trigger has been waiting, in seconds; 0 = none is due. */
  async lag(database: Queryable, now: Date): Promise<number> {
    const rows = await database.query<{ lag: number }>(
      `SELECT greatest(0, extract(epoch FROM $1::timestamptz - min(next_tick_at)))::float8 AS lag
         FROM cron_triggers WHERE next_tick_at IS NOT NULL`,
      [now],
    );
    return rows[0]?.lag ?? 0;
  }

  /** Triggers that are due and that nobody else holds, the longest due first; held until the transaction ends. */
  claimDue(tx: Tx, now: Date, kinds: string[], except: string[], limit: number): Promise<DueTrigger[]> {
    return tx.query<DueTrigger>(
      `SELECT ${TRIGGER_COLUMNS} FROM cron_triggers
        WHERE next_tick_at <= $1 AND kind = ANY ($2) AND id <> ALL ($3::uuid[])
        ORDER BY next_tick_at LIMIT $4 FOR UPDATE SKIP LOCKED`,
      [now, kinds, except, limit],
    );
  }

  /** The trigger, if it is due and nobody else holds it. */
  async claimOne(tx: Tx, now: Date, id: string): Promise<DueTrigger[]> {
    return tx.query<DueTrigger>(
      `SELECT ${TRIGGER_COLUMNS} FROM cron_triggers WHERE id = $2 AND next_tick_at <= $1 FOR UPDATE SKIP LOCKED`,
      [now, id],
    );
  }

  /** Triggers whose next tick was reckoned with a clock that has been put back since. */
  claimAhead(tx: Tx, now: Date, limit: number): Promise<DueTrigger[]> {
    return tx.query<DueTrigger>(
      `SELECT ${TRIGGER_COLUMNS} FROM cron_triggers
        WHERE ${RECKONED_AHEAD} LIMIT $2 FOR UPDATE SKIP LOCKED`,
      [now, limit],
    );
  }

  /** Forgets of these triggers what a clock that was ahead made of them: ticks that were missed before they come, and intervals counted from later. */
  async forgetFuture(tx: Tx, ids: string[], now: Date): Promise<void> {
    await tx.query(
      `DELETE FROM cron_ticks WHERE trigger_id = ANY ($1::uuid[]) AND tick_at > $2 AND outcome = 'missed'`,
      [ids, now],
    );
    await tx.query('UPDATE cron_triggers SET anchor_at = $2 WHERE id = ANY ($1::uuid[]) AND anchor_at > $2', [
      ids,
      now,
    ]);
  }

  /**
   * Records what becomes of ticks. The row is the lock: a tick that has one already is not yours, unless it was recorded as missed
   * and is fired after all, since the clock has been put back.
   *
   * @returns the keys ({@link tickKey}) of those that were recorded now
   */
  async record(tx: Tx, ticks: NewTick[], now: Date): Promise<Set<string>> {
    if (ticks.length === 0) return new Set();
    const recorded = await tx.query<{ triggerId: string; tickAt: Date }>(
      `INSERT INTO cron_ticks AS t (trigger_id, tick_at, outcome, run_id, reason, decided_at)
       SELECT "triggerId", "tickAt", outcome, "runId", reason, $2
         FROM jsonb_to_recordset($1::jsonb) AS g ("triggerId" uuid, "tickAt" timestamptz, outcome text, "runId" uuid, reason text)
       ON CONFLICT (trigger_id, tick_at) DO UPDATE
         SET outcome = excluded.outcome, run_id = excluded.run_id, reason = excluded.reason, decided_at = excluded.decided_at
         WHERE t.outcome = 'missed' AND excluded.outcome <> 'missed'
       RETURNING trigger_id AS "triggerId", tick_at AS "tickAt"`,
      [JSON.stringify(ticks), now],
    );
    return new Set(recorded.map(tickKey));
  }

  /** Ticks that turn out to have made their runs before: they name those. */
  async relink(tx: Tx, ticks: { triggerId: string; tickAt: Date; runId: string }[]): Promise<void> {
    await tx.query(
      `UPDATE cron_ticks t SET run_id = g.run_id
         FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[]) AS g (trigger_id, tick_at, run_id)
        WHERE (t.trigger_id, t.tick_at) = (g.trigger_id, g.tick_at)`,
      [
        ticks.map(({ triggerId }) => triggerId),
        ticks.map(({ tickAt }) => tickAt),
        ticks.map(({ runId }) => runId),
      ],
    );
  }

  /** Sets what the triggers wait for next, and what their last tick came to; of each the latest {@link KEPT_TICKS} ticks are kept. */
  async advance(tx: Tx, advances: Advance[], now: Date): Promise<void> {
    await tx.query(
      `UPDATE cron_triggers t SET
         next_tick_at = g.next_tick_at, reckoned_at = $2,
         last_ran_at = CASE WHEN g.tried AND g.error IS NULL THEN $2 ELSE t.last_ran_at END,
         last_error = CASE WHEN g.tried THEN g.error ELSE t.last_error END
         FROM jsonb_to_recordset($1::jsonb) AS g (id uuid, next_tick_at timestamptz, tried boolean, error text)
        WHERE t.id = g.id`,
      [
        JSON.stringify(
          advances.map(({ id, nextTickAt, lastTry }) => ({
            id,
            next_tick_at: nextTickAt ?? null,
            tried: lastTry !== undefined,
            error: typeof lastTry === 'object' ? lastTry.error : null,
          })),
        ),
        now,
      ],
    );
    await tx.query(
      `DELETE FROM cron_ticks t USING unnest($1::uuid[]) AS g (id)
        WHERE t.trigger_id = g.id AND t.tick_at < (
          SELECT k.tick_at FROM cron_ticks k WHERE k.trigger_id = g.id
           ORDER BY k.tick_at DESC OFFSET ${String(KEPT_TICKS - 1)} LIMIT 1)`,
      [advances.map(({ id }) => id)],
    );
  }

  /** The latest ticks, the latest first. */
  ticks(database: Queryable, id: string): Promise<Tick[]> {
    return database.query<Tick>(
      `SELECT tick_at AS "tickAt", outcome, run_id AS "runId", reason, decided_at AS "decidedAt"
         FROM cron_ticks WHERE trigger_id = $1 ORDER BY tick_at DESC LIMIT ${String(KEPT_TICKS)}`,
      [id],
    );
  }
}

/** One tick among those of all triggers. */
export const tickKey = ({ triggerId, tickAt }: { triggerId: string; tickAt: Date }): string =>
  `${triggerId}:${tickAt.toISOString()}`;
