import { ApiProperty } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, IsUUID, Max, Min } from 'class-validator';
import { IsSearchable } from '../../kernel/http/is-searchable.js';
import { IsTimestamp, parseTimestamp } from '../../kernel/http/timestamp.js';
import { PageInfo } from '../../kernel/pagination/page-info.dto.js';
import type { ResultFilter, ScorerResult } from '../domain/score-view.js';

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 20;

const lowerCase = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.toLowerCase() : value;

/** Which results of a scorer, and which page of them. */
export class ListResultsQuery {
  /**
   * How many results at most.
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
   * @example "eyJzY29wZSI6InJlc3VsdHMifQ.c2lnbmF0dXJl"
   */
  @IsOptional()
  @IsString()
  @ApiProperty({ required: false })
  cursor?: string;

  /**
   * Of runs that this agent, or person, executed.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  @IsOptional()
  @Transform(lowerCase)
  @IsUUID()
  agent_uid?: string;

  /**
   * Of runs with this model, exactly.
   * @example "claude-sonnet-5"
   */
  @IsOptional()
  @IsSearchable()
  model_id?: string;

  /**
   * Of runs with this skill, exactly.
   * @example "acme/web:skills/review/SKILL.md"
   */
  @IsOptional()
  @IsSearchable()
  skill?: string;

  /**
   * Evaluations from this moment on.
   * @example "2026-11-01T00:00:00Z"
   */
  @IsOptional()
  @IsTimestamp()
  since?: string;

  /**
   * Evaluations before this moment.
   * @example "2026-12-01T00:00:00Z"
   */
  @IsOptional()
  @IsTimestamp()
  until?: string;
}

/** What a judge made of a run by one scorer. */
export class ResultResponse {
  /**
   * The graded run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  run_id: string;

  /**
   * The evaluation: the runs of several scorers may be graded by one judge.
   * @example "019c3f0f-11aa-7c04-b6f5-7c0f2f9f8e21"
   */
  evaluation_id: string;

  /**
   * The judge's run.
   * @example "019c3f0f-2d10-7b6b-8a43-0d4f4d1a6b32"
   */
  judge_run_id: string;

  /**
   * Whoever executed the graded run.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  agent_uid: string;

  /**
   * The model of the graded run.
   * @example "claude-sonnet-5"
   */
  model_id?: string;

  /**
   * The skill of the graded run.
   * @example "acme/web:skills/review/SKILL.md"
   */
  skill?: string;

  /**
   * Whether the scorer chose the run; otherwise somebody asked for it.
   * @example true
   */
  sampled: boolean;

  /**
   * Whether the judge could not grade; then there is no classification.
   * @example false
   */
  failed: boolean;

  /**
   * The label that the judge chose.
   * @example "kept_to_the_task"
   */
  classification?: string;

  /**
   * What the label was worth when the evaluation was captured.
   * @example 1
   */
  score?: number;

  /**
   * Whether that was enough.
   * @example true
   */
  passed?: boolean;

  /**
   * Why, in the judge's words.
   * @example "It changed the two files that it was asked to change."
   */
  reason?: string;

  /**
   * When the evaluation was captured: the order of the list.
   * @example "2026-11-21T09:30:00.000Z"
   */
  created_at: string;

  /**
   * When the judge last reported it.
   * @example "2026-11-21T09:31:00.000Z"
   */
  reported_at: string;
}

/** A page of the results of a scorer. */
export class ListResultsResponse {
  /** The latest evaluation first. */
  results: ResultResponse[];

  /** Where the next page begins. */
  page_info: PageInfo;
}

/** Both bounds to the millisecond; what is finer rounds so that neither lets a result through that it excludes. */
export const toResultFilter = (query: ListResultsQuery): ResultFilter => ({
  agentUid: query.agent_uid,
  modelId: query.model_id,
  skillSpec: query.skill,
  since: parseTimestamp(query.since, 'up'),
  until: parseTimestamp(query.until, 'up'),
});

export const toResultResponse = (result: ScorerResult): ResultResponse => ({
  run_id: result.run_id,
  evaluation_id: result.evaluation_id,
  judge_run_id: result.judge_run_id,
  agent_uid: result.agent_uid,
  model_id: result.model_id ?? undefined,
  skill: result.skill_spec ?? undefined,
  sampled: result.sampled,
  failed: result.failed,
  classification: result.classification ?? undefined,
  score: result.score ?? undefined,
  passed: result.passed ?? undefined,
  reason: result.reason ?? undefined,
  created_at: result.created_at.toISOString(),
  reported_at: result.reported_at.toISOString(),
});
