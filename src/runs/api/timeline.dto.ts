import type { TimelineEventView } from '../domain/run-view.js';

/** Something that happened to a run. */
export class TimelineEventResponse {
  /**
   * The event.
   * @example "3f6ad0a4-0d0f-4a4c-9d5a-9a0f6c9e2b11"
   */
  event_uuid: string;

  /**
   * Its run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  run_id: string;

  /**
   * The execution that it is about, if it is about one.
   * @example 42
   */
  execution_id?: number;

  /**
   * What happened; an open set, to which later versions add.
   * @example "oz_run_claimed"
   */
  event_type: string;

  /**
   * When.
   * @example "2026-11-21T09:30:01.120Z"
   */
  occurred_at: string;

  /**
   * What there is to know about it.
   * @example { "worker_id": "built-in" }
   */
  payload?: Record<string, unknown>;
}

/** The timeline of a run. */
export class TimelineResponse {
  /** The events, the first one first. */
  events: TimelineEventResponse[];
}

export const toTimelineResponse = (events: TimelineEventView[]): TimelineResponse => ({
  events: events.map((event) => ({
    event_uuid: event.event_uuid,
    run_id: event.run_id,
    execution_id: event.execution_id === null ? undefined : Number(event.execution_id),
    event_type: event.event_type,
    occurred_at: event.occurred_at.toISOString(),
    payload: event.payload ?? undefined,
  })),
});
