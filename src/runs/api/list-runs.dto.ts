import { ApiProperty } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayNotEmpty, IsIn, IsInt, IsOptional, IsString, IsUUID, Matches, Max, Min } from 'class-validator';
import { IsSearchable } from '../../kernel/http/is-searchable.js';
import { IsTimestamp, parseTimestamp } from '../../kernel/http/timestamp.js';
import { ARTIFACT_TYPES, type ArtifactType } from '../../artifacts/index.js';
import { PageInfo } from '../../kernel/pagination/page-info.dto.js';
import { Problem } from '../../kernel/errors/problem.js';
import {
  EMPTY_ENVIRONMENT,
  EXECUTION_LOCATIONS,
  type ExecutionLocation,
  RUN_SORTS,
  type RunFilter,
  type RunSort,
  SORT_ORDERS,
  type SortOrder,
} from '../domain/run-filter.js';
import { RUN_SOURCES, type RunSource } from '../domain/run-source.js';
import { RUN_STATE_MACHINE, type RunState } from '../domain/run-state.js';
import { RunResponse } from './run.dto.js';

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 20;

const lowerCase = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.toLowerCase() : value;

/** Which runs, in which order, and which page of them. */
export class ListRunsQuery {
  /**
   * How many runs at most.
   * @example 20
   */
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  limit: number = DEFAULT_LIMIT;

  /**
   * `next_cursor` of the page before; everything but `limit` must be the same as for that page.
   * @example "eyJzY29wZSI6InJ1bnMgdXBkYXRlZF9hdCBkZXNjIn0.c2lnbmF0dXJl"
   */
  @IsOptional()
  @IsString()
  @ApiProperty({ required: false })
  cursor?: string;

  /**
   * What to sort by. `agent` is the skill; runs without one come last in either direction.
   * @example "created_at"
   */
  @IsOptional()
  @IsIn(RUN_SORTS)
  @ApiProperty({ enum: RUN_SORTS, default: 'updated_at', required: false })
  sort_by: RunSort = 'updated_at';

  /**
   * The direction.
   * @example "asc"
   */
  @IsOptional()
  @IsIn(SORT_ORDERS)
  @ApiProperty({ enum: SORT_ORDERS, default: 'desc', required: false })
  sort_order: SortOrder = 'desc';

  /**
   * Runs in this state; repeat it for runs in any of several.
   * @example ["FAILED", "ERROR"]
   */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value))
  @ArrayNotEmpty()
  @IsIn(RUN_STATE_MACHINE.states, { each: true })
  @ApiProperty({ enum: RUN_STATE_MACHINE.states, isArray: true, required: false })
  state?: RunState[];

  /**
   * The name in their configuration, exactly.
   * @example "nightly"
   */
  @IsOptional()
  @IsSearchable()
  name?: string;

  /**
   * Their model, exactly.
   * @example "claude-sonnet-5"
   */
  @IsOptional()
  @IsSearchable()
  model_id?: string;

  /**
   * The user or service account that started them.
   * @example "019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e44"
   */
  @IsOptional()
  @Transform(lowerCase)
  @IsUUID()
  creator?: string;

  /**
   * The user or agent that they are executed as.
   * @example "019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e44"
   */
  @IsOptional()
  @Transform(lowerCase)
  @IsUUID()
  executor?: string;

  /**
   * What started them.
   * @example "SCHEDULED_AGENT"
   */
  @IsOptional()
  @IsIn(RUN_SOURCES)
  @ApiProperty({ enum: RUN_SOURCES, required: false })
  source?: RunSource;

  /**
   * Where they execute.
   * @example "REMOTE"
   */
  @IsOptional()
  @IsIn(EXECUTION_LOCATIONS)
  @ApiProperty({ enum: EXECUTION_LOCATIONS, required: false })
  execution_location?: ExecutionLocation;

  /**
   * Runs that were created after this moment.
   * @example "2026-11-01T00:00:00Z"
   */
  @IsOptional()
  @IsTimestamp()
  @ApiProperty({ format: 'date-time', required: false })
  created_after?: string;

  /**
   * Runs that were created before this moment.
   * @example "2026-11-21T12:00:00+01:00"
   */
  @IsOptional()
  @IsTimestamp()
  @ApiProperty({ format: 'date-time', required: false })
  created_before?: string;

  /**
   * Runs that have changed after this moment.
   * @example "2026-11-21T09:30:00Z"
   */
  @IsOptional()
  @IsTimestamp()
  @ApiProperty({ format: 'date-time', required: false })
  updated_after?: string;

  /**
   * Their environment; `empty-environment` for runs without one.
   * @example "q3vZ8LwT1nRk5YxB7cMd2F"
   */
  @IsOptional()
  @Matches(/^([A-Za-z0-9]{22}|empty-environment)$/, {
    message: `must be 22 characters of A-Z a-z 0-9, or ${EMPTY_ENVIRONMENT}`,
  })
  environment_id?: string;

  /**
   * Their skill.
   * @example "acme/shop:.agents/skills/release/SKILL.md"
   */
  @IsOptional()
  @IsSearchable()
  skill_spec?: string;

  /**
   * The same as `skill_spec`.
   * @example "acme/shop:.agents/skills/release/SKILL.md"
   */
  @IsOptional()
  @IsSearchable()
  skill?: string;

  /**
   * The scheduled agent that started them.
   * @example "019c3f0f-03bb-7d0c-9b36-8b1f6f6c8d55"
   */
  @IsOptional()
  @Transform(lowerCase)
  @IsUUID()
  schedule_id?: string;

  /**
   * All descendants of this run: its children, their children and so on.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @IsOptional()
  @Transform(lowerCase)
  @IsUUID()
  ancestor_run_id?: string;

  /**
   * Runs that have an artifact of this type.
   * @example "PULL_REQUEST"
   */
  @IsOptional()
  @IsIn(ARTIFACT_TYPES)
  @ApiProperty({ enum: ARTIFACT_TYPES, required: false })
  artifact_type?: ArtifactType;

  /**
   * Words to find in title, prompt and skill, all of them; their beginnings are enough, and typing errors are forgiven.
   * @example "kubernetis deploy"
   */
  @IsOptional()
  @IsSearchable()
  q?: string;
}

/** A page of runs. */
export class ListRunsResponse {
  /** The runs, in the order that was asked for. */
  runs: RunResponse[];

  /** Where the next page begins. */
  page_info: PageInfo;
}

/**
 * @param metadata pairs of `metadata[key]=value`
 * @throws Problem 400 when the two names of the skill's parameter name different skills
 */
export function toRunFilter(query: ListRunsQuery, metadata: [key: string, value: string][]): RunFilter {
  if (query.skill !== undefined && query.skill_spec !== undefined && query.skill !== query.skill_spec) {
    throw Problem.invalid([{ field: 'skill', message: 'must be the same as skill_spec, or left out' }]);
  }
  return {
    states: query.state && [...new Set(query.state)],
    name: query.name,
    modelId: query.model_id,
    creatorUid: query.creator,
    executorUid: query.executor,
    source: query.source,
    executionLocation: query.execution_location,
    createdAfter: parseTimestamp(query.created_after),
    createdBefore: parseTimestamp(query.created_before, 'up'),
    updatedAfter: parseTimestamp(query.updated_after),
    environmentId: query.environment_id === EMPTY_ENVIRONMENT ? null : query.environment_id,
    skillSpec: query.skill_spec ?? query.skill,
    scheduleId: query.schedule_id,
    ancestorRunId: query.ancestor_run_id,
    metadata: metadata.length > 0 ? metadata : undefined,
    artifactType: query.artifact_type,
    q: query.q?.trim() === '' ? undefined : query.q,
  };
}
