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

/** A trigger whose tick has come. */
export interface DueTrigger extends TriggerSettings {
  /** The tick that it waited for. */
  nextTickAt: Date;
}
