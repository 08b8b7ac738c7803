import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsInt,
  IsOptional,
  Max,
  Min,
} from 'class-validator';
import { HarnessDto } from '../../identities/index.js';
import type { NewEvaluation } from '../domain/evaluation.js';
import { MAX_SCORER_ID } from './scorer-id-param.pipe.js';

/** By what a run is to be graded. */
export class RequestEvaluationRequest {
  /**
   * Scorers of the team; by default all that grade the agent which executed the run.
   * @example [12]
   */
  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(100)
  @ArrayUnique()
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(MAX_SCORER_ID, { each: true })
  @ApiProperty({ type: 'integer', isArray: true, required: false })
  scorer_ids?: number[];
}

/** A grading of the run by one judge, which is given its run in a moment. */
export class EvaluationResponse {
  /**
   * Its id, by which the scores of the run name it.
   * @example "019c3f0f-11aa-7c04-b6f5-7c0f2f9f8e21"
   */
  evaluation_id: string;

  /**
   * The scorers that the judge grades by.
   * @example [12]
   */
  @ApiProperty({ type: 'integer', isArray: true })
  scorer_ids: number[];

  /**
   * The model of the judge.
   * @example "script"
   */
  model_id?: string;

  /** The harness of the judge. */
  harness: HarnessDto;
}

/** What was asked for: one evaluation for each judge model and harness. */
export class EvaluationsResponse {
  /** The evaluations. */
  evaluations: EvaluationResponse[];
}

export const toEvaluationResponse = ({ id, judge, scorerIds }: NewEvaluation): EvaluationResponse => ({
  evaluation_id: id,
  scorer_ids: scorerIds,
  model_id: judge.modelId,
  harness: judge.harness,
});
