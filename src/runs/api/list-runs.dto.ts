import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { PageInfo } from '../../kernel/pagination/page-info.dto.js';
import { RunResponse } from './run.dto.js';

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 20;

/** Which page of the list. */
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
   * `next_cursor` of the page before.
   * @example "eyJzY29wZSI6InJ1bnMgdXBkYXRlZF9hdCBkZXNjIn0.c2lnbmF0dXJl"
   */
  @IsOptional()
  @IsString()
  @ApiProperty({ required: false })
  cursor?: string;
}

/** A page of runs. */
export class ListRunsResponse {
  /** The runs, the latest change first. */
  runs: RunResponse[];

  /** Where the next page begins. */
  page_info: PageInfo;
}
