import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsInt,
  IsOptional,
  IsString,
  ValidateNested,
} from 'class-validator';
import { MAX_SCORERS } from '../domain/scorer.js';
import type { Ruling, Verdict } from '../domain/verdict.js';

/** What the judge says, by one scorer. */
export class VerdictDto {
  /**
   * The scorer.
   * @example 12
   */
  @IsInt()
  @ApiProperty({ type: 'integer' })
  scorer_id: number;

  /**
   * The value of one of the scorer's labels, as they were when the evaluation was captured. Required unless `failed` is true.
   * @example "kept_to_the_task"
   */
  @IsOptional()
  @IsString()
  classification?: string;

  /**
   * Why. Kept up to 8 KB; what is longer is cut.
   * @example "It changed the two files that it was asked to change."
   */
  @IsOptional()
  @IsString()
  reason?: string;

  /**
   * Whether it could not grade.
   * @example false
   */
  @IsOptional()
  @IsBoolean()
  failed?: boolean;
}

/** The verdicts of a judge: all, or some of them. */
export class ReportScoresRequest {
  /**
   * One for each scorer.
   * @example [{ "scorer_id": 12, "classification": "kept_to_the_task", "reason": "It did what it was asked" }]
   */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_SCORERS)
  @ValidateNested({ each: true })
  @Type(() => VerdictDto)
  results: VerdictDto[];
}

/** Whether a verdict stands. */
export class RulingResponse {
  /**
   * The scorer.
   * @example 12
   */
  @ApiProperty({ type: 'integer' })
  scorer_id: number;

  /**
   * Whether it stands.
   * @example "accepted"
   */
  @ApiProperty({ enum: ['accepted', 'rejected'] })
  status: 'accepted' | 'rejected';

  /**
   * Why it was rejected.
   * @example "classification must be one of \"kept_to_the_task\", \"went_astray\""
   */
  error?: string;
}

/** Which of the verdicts stand. */
export class ReportScoresResponse {
  /** In the order of the request. */
  results: RulingResponse[];
}

export const toVerdict = (verdict: VerdictDto): Verdict => ({
  scorerId: verdict.scorer_id,
  classification: verdict.classification ?? undefined,
  reason: verdict.reason ?? undefined,
  failed: verdict.failed ?? undefined,
});

export function toRulingResponse(ruling: Ruling): RulingResponse {
  switch (ruling.outcome) {
    case 'accepted':
      return { scorer_id: ruling.score.scorerId, status: 'accepted' };
    case 'rejected':
      return { scorer_id: ruling.scorerId, status: 'rejected', error: ruling.error };
  }
}
