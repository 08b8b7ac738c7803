import type { RecurrenceRule } from './recurrence.js';

/** A trigger as whoever keeps it sets it. */
export interface TriggerSettings extends RecurrenceRule {
  id: string;
  /** Who makes its runs. */
  kind: string;
  /** How late a tick may be made up for after a downtime; 0 = never. */
  catchUpMinutes: number;
  enabled: boolean;
}

/** A trigger as it is kept. */
export interface Trigger extends TriggerSettings {
  /** The tick that it waits for; null: paused, or never again. */
  nextTickAt: Date | null;
  /** What the clock showed when that was reckoned. */
  reckonedAt: Date;
}

/** A trigger whose tick has come. */
export interface DueTrigger extends Trigger {
  nextTickAt: Date;
}
