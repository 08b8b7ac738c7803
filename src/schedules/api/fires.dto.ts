import { ApiProperty } from '@nestjs/swagger';
import { type Tick, TICK_OUTCOMES, type TickOutcome } from '../domain/tick.js';

/** A tick that has come, and what became of it. */
export class FireResponse {
  /**
   * When it was due.
   * @example "2026-11-21T09:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  scheduled_at: string;

  /**
   * It made a run; it was missed, since the scheduler did not run at that time; or its run could not be created.
   * @example "fired"
   */
  @ApiProperty({ enum: TICK_OUTCOMES })
  outcome: TickOutcome;

  /**
   * The run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  run_id?: string;

  /**
   * Why it made no run.
   * @example "agent_uid: must be an agent identity of the team"
   */
  reason?: string;

  /**
   * When that was decided.
   * @example "2026-11-21T09:00:00.412Z"
   */
  @ApiProperty({ format: 'date-time' })
  decided_at: string;
}

/** When a schedule was due, and when it will be. */
export class FiresResponse {
  /** The last 100 ticks, the latest first. */
  fires: FireResponse[];

  /**
   * The next ten; none while it is paused.
   * @example ["2026-11-24T09:00:00.000Z"]
   */
  @ApiProperty({ type: 'array', items: { type: 'string', format: 'date-time' } })
  upcoming: string[];
}

export const toFiresResponse = (schedule: { ticks: Tick[]; upcoming: Date[] }): FiresResponse => ({
  fires: schedule.ticks.map((tick) => ({
    scheduled_at: tick.tickAt.toISOString(),
    outcome: tick.outcome,
    run_id: tick.runId ?? undefined,
    reason: tick.reason ?? undefined,
    decided_at: tick.decidedAt.toISOString(),
  })),
  upcoming: schedule.upcoming.map((tick) => tick.toISOString()),
});
