import { ApiProperty } from '@nestjs/swagger';
import { Expose, Transform, Type } from 'class-transformer';
import { ArrayMaxSize, ArrayNotEmpty, IsIn, IsInt, IsOptional, IsUUID, Max, Min } from 'class-validator';
import { Problem } from '../../kernel/errors/problem.js';
import { ForbidTogether } from '../../kernel/http/forbid-together.js';
import {
  RUN_EVENT_TYPES,
  type RunEventType,
  type RunEventView,
  type RunSelection,
} from '../domain/run-event.js';

const MAX_RUNS = 100;
const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 100;

/** Which runs are followed, and from where. */
export class FollowRunsQuery {
  /**
   * The runs, at most 100: repeat the parameter. `run_ids[]` is the same.
   * @example ["019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"]
   */
  @Expose()
  @Transform(({ obj }: { obj: Record<string, unknown> }) => repeated(obj, 'run_ids'))
  @IsOptional()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_RUNS)
  @IsUUID(undefined, { each: true })
  @ForbidTogether(['ancestor_run_id'])
  @ApiProperty({ type: String, format: 'uuid', isArray: true, required: false })
  run_ids?: string[];

  /**
   * All descendants of this run instead, those to come as well.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @IsOptional()
  @IsUUID()
  ancestor_run_id?: string;

  /**
   * Whether that run itself is followed, too.
   * @example "true"
   */
  @IsOptional()
  @IsIn(['true', 'false'])
  @ApiProperty({ enum: ['true', 'false'], required: false, default: 'false' })
  include_self?: 'true' | 'false';

  /**
   * The events after this sequence number; 0 = from the beginning.
   * @example 1742
   */
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  since?: number;
}

/** The same, a page at a time. */
export class ListEventsQuery extends FollowRunsQuery {
  /**
   * How many events at most, 1 to 500.
   * @example 100
   */
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  @ApiProperty({ required: false, default: DEFAULT_LIMIT, minimum: 1, maximum: MAX_LIMIT })
  limit: number = DEFAULT_LIMIT;
}

/** Something that happened to a run. */
export class EventResponse {
  /**
   * What happened.
   * @example "run_succeeded"
   */
  @ApiProperty({ enum: RUN_EVENT_TYPES })
  event_type: RunEventType;

  /**
   * The run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  run_id: string;

  /**
   * What it is about besides the run: of `new_message` the message.
   * @example null
   */
  @ApiProperty({ type: String, nullable: true })
  ref_id: string | null;

  /**
   * The execution that it is about.
   * @example "42"
   */
  @ApiProperty({ type: String, nullable: true })
  execution_id: string | null;

  /**
   * When.
   * @example "2026-11-21T09:30:04.120Z"
   */
  @ApiProperty({ format: 'date-time' })
  occurred_at: string;

  /**
   * Its place in the order of the events of all runs.
   * @example 1743
   */
  @ApiProperty({ type: 'integer', format: 'int64' })
  sequence: number;
}

/** @throws Problem 400 unless it says which runs */
export function toSelection(query: FollowRunsQuery): RunSelection {
  const { run_ids: runIds, ancestor_run_id: ancestorRunId } = query;
  if (runIds !== undefined) return { runIds: runIds.map((id) => id.toLowerCase()) };
  if (ancestorRunId === undefined) {
    throw Problem.invalid([{ field: 'run_ids', message: 'must be given, or ancestor_run_id instead' }]);
  }
  return { ancestorRunId: ancestorRunId.toLowerCase(), includeSelf: query.include_self === 'true' };
}

/**
 * Where a reader goes on: a browser that comes back says so in the header, whatever address it was given at first.
 *
 * @throws Problem 400 when the header is no number that this service gave out
 */
export function resumeFrom(query: FollowRunsQuery, lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === '') return query.since ?? 0;
  const sequence = /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : NaN;
  if (!Number.isSafeInteger(sequence)) {
    throw Problem.invalid([{ field: 'Last-Event-ID', message: 'must be the sequence number of an event' }]);
  }
  return sequence;
}

export const toEventResponse = (event: RunEventView): EventResponse => ({
  event_type: event.event_type,
  run_id: event.run_id,
  ref_id: event.ref_id,
  execution_id: event.execution_id,
  occurred_at: event.occurred_at.toISOString(),
  sequence: event.sequence,
});

/** The values of a parameter that may be repeated, with brackets behind its name or without; undefined when there is none. */
function repeated(query: Record<string, unknown>, name: string): unknown {
  const values = [query[name], query[`${name}[]`]].flat().filter((value) => value !== undefined);
  return values.length === 0 ? undefined : values;
}
