/** What followers of a run learn as it happens, by the names on the wire. */
export const RUN_EVENT_TYPES = [
  'run_in_progress',
  'run_succeeded',
  'run_failed',
  'run_errored',
  'run_blocked',
  'run_cancelled',
  /** Somebody sent the run a message: `ref_id` is the message. */
  'new_message',
  /** Its agent works in a session that can be watched: `ref_id` is the session. */
  'run_session_linked',
] as const;
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** Those that an agent may report itself; the others follow from what happens to the run. */
export const REPORTABLE_EVENT_TYPES = [
  'run_in_progress',
  'run_blocked',
  'run_session_linked',
] as const satisfies RunEventType[];
export type ReportableEventType = (typeof REPORTABLE_EVENT_TYPES)[number];

/** An event as it is read. */
export interface RunEventView {
  event_type: RunEventType;
  run_id: string;
  ref_id: string | null;
  execution_id: string | null;
  occurred_at: Date;
  /** Its place in the order of the events of all runs. */
  sequence: number;
}

/** Which runs are followed: some, or the descendants of one. */
export type RunSelection = { runIds: string[] } | { ancestorRunId: string; includeSelf: boolean };

/** The followed runs, all of which exist and may be seen, as the events are looked up by. */
export type FollowedRuns =
  | { kind: 'runs'; runIds: string[] }
  | { kind: 'tree'; rootRunId: string; ancestorRunId: string; includeSelf: boolean };
