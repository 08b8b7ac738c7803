import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { ONE_LINE, ONE_LINE_RULE } from '../../kernel/one-line.js';
import { HarnessDto, SHORT_TEXT } from '../../identities/index.js';
import {
  DEFAULT_SAMPLING_RATE,
  type Label,
  MAX_AGENTS,
  MAX_LABELS,
  MAX_RUBRIC,
  MIN_LABELS,
  type Scorer,
  type ScorerSettings,
} from '../domain/scorer.js';

/** A verdict that a judge can give, and what it is worth. */
export class LabelDto {
  /**
   * What the judge answers, exactly.
   * @example "kept_to_the_task"
   */
  @IsString()
  @Matches(ONE_LINE, { message: ONE_LINE_RULE })
  @MaxLength(64)
  value: string;

  /**
   * What it is worth, from 0 to 1.
   * @example 1
   */
  @IsNumber()
  @Min(0)
  @Max(1)
  score: number;

  /**
   * When it applies.
   * @example "The agent did what was asked and nothing else"
   */
  @IsOptional()
  @IsString()
  @MaxLength(1000)
  description?: string;
}

/** A scorer to be, all of it: what is left out has its default. */
export class ScorerRequest {
  /**
   * Its name, different from those of the team's other scorers that were made by the API. The definition of a factory has names of its own.
   * @example "Keeps to the task"
   */
  @IsString()
  @Matches(ONE_LINE, { message: ONE_LINE_RULE })
  @MaxLength(SHORT_TEXT)
  name: string;

  /**
   * What the judge is to look at, in Markdown.
   * @example "Did the agent do what was asked, and nothing that was not asked?"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_RUBRIC)
  rubric: string;

  /**
   * The agent identities whose runs it grades.
   * @example ["019c3f0e-0000-7000-8000-000000000003"]
   */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_AGENTS)
  @ArrayUnique()
  @IsUUID('all', { each: true })
  agent_uids: string[];

  /**
   * The verdicts that the judge can give: at least one whose score reaches `passing_score`, and one whose score does not.
   * @example [{ "value": "kept_to_the_task", "score": 1 }, { "value": "went_astray", "score": 0 }]
   */
  @IsArray()
  @ArrayMinSize(MIN_LABELS)
  @ArrayMaxSize(MAX_LABELS)
  @ValidateNested({ each: true })
  @Type(() => LabelDto)
  labels: LabelDto[];

  /**
   * A verdict of at least this score passes; from 0 to 1.
   * @example 0.5
   */
  @IsNumber()
  @Min(0)
  @Max(1)
  passing_score: number;

  /**
   * The share of the agents' runs that it grades by itself, from 0 (none) to 1 (all).
   * @example 0.25
   */
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1)
  @ApiProperty({ required: false, default: DEFAULT_SAMPLING_RATE })
  sampling_rate?: number;

  /**
   * The model of the judge; by default that of the system.
   * @example "script"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  model_id?: string;

  /** The harness of the judge; by default the built-in one. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => HarnessDto)
  harness?: HarnessDto;
}

/** A scorer: what a team grades the runs of its agents by. */
export class ScorerResponse {
  /**
   * Its id.
   * @example 12
   */
  @ApiProperty({ type: 'integer' })
  id: number;

  /**
   * Its name.
   * @example "Keeps to the task"
   */
  name: string;

  /**
   * What the judge is to look at, in Markdown.
   * @example "Did the agent do what was asked, and nothing that was not asked?"
   */
  rubric: string;

  /**
   * The agent identities whose runs it grades.
   * @example ["019c3f0e-0000-7000-8000-000000000003"]
   */
  agent_uids: string[];

  /** The verdicts that the judge can give. */
  labels: LabelDto[];

  /**
   * A verdict of at least this score passes.
   * @example 0.5
   */
  passing_score: number;

  /**
   * The share of the agents' runs that it grades by itself.
   * @example 0.25
   */
  sampling_rate: number;

  /**
   * The model of the judge; absent: that of the system.
   * @example "script"
   */
  model_id?: string;

  /** The harness of the judge; absent: the built-in one. */
  harness?: HarnessDto;

  /**
   * The factory whose definition says what it is; such a scorer is changed there and not here.
   * @example "019c3f0e-0000-7000-8000-000000000006"
   */
  factory_uid?: string;

  /**
   * When it was made.
   * @example "2026-11-21T09:30:00.000Z"
   */
  created_at: string;

  /**
   * When it was last changed.
   * @example "2026-11-21T09:30:00.000Z"
   */
  updated_at: string;
}

/** The scorers of a team. */
export class ListScorersResponse {
  /** By name; 1,000 at most. */
  scorers: ScorerResponse[];
}

export const toScorerSettings = (request: ScorerRequest): ScorerSettings => ({
  name: request.name,
  rubric: request.rubric,
  agentUids: request.agent_uids.map((uid) => uid.toLowerCase()),
  labels: request.labels.map(toLabel),
  passingScore: request.passing_score,
  samplingRate: request.sampling_rate ?? DEFAULT_SAMPLING_RATE,
  modelId: request.model_id ?? undefined,
  harness: request.harness ?? undefined,
});

const toLabel = ({ value, score, description }: LabelDto): Label => ({
  value,
  score,
  description: description ?? undefined,
});

export const toScorerResponse = (scorer: Scorer): ScorerResponse => ({
  id: scorer.id,
  name: scorer.name,
  rubric: scorer.rubric,
  agent_uids: scorer.agentUids,
  labels: scorer.labels,
  passing_score: scorer.passingScore,
  sampling_rate: scorer.samplingRate,
  model_id: scorer.modelId,
  harness: scorer.harness,
  factory_uid: scorer.factoryUid,
  created_at: scorer.createdAt.toISOString(),
  updated_at: scorer.updatedAt.toISOString(),
});
