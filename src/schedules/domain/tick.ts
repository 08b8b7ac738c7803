/** What became of a tick: it made a run; it came while nobody could fire it; its run could not be created. */
export const TICK_OUTCOMES = ['fired', 'missed', 'failed'] as const;
export type TickOutcome = (typeof TICK_OUTCOMES)[number];

/** A tick that has come. */
export interface Tick {
  tickAt: Date;
  outcome: TickOutcome;
  runId: string | null;
  /** Why it made no run. */
  reason: string | null;
  decidedAt: Date;
}
