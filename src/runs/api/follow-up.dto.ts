import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { RUN_MODES, type RunMode } from '../domain/run-mode.js';

const MAX_MESSAGE_CHARACTERS = 1_000_000;

/** A message to a run. */
export class FollowUpRequest {
  /**
   * What the agent is to do next, at most 1,000,000 characters. It may be empty or left out only where it continues the saved
   * conversation of a run that has ended.
   * @example "Now run the tests:\n```bash\nnpm test\n```"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_MESSAGE_CHARACTERS)
  message?: string;

  /**
   * How the agent is to go about it; left out, as in the run.
   * @example "normal"
   */
  @IsOptional()
  @IsIn(RUN_MODES)
  @ApiProperty({ enum: RUN_MODES, required: false })
  mode?: RunMode;
}
