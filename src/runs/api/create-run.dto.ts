import { Type } from 'class-transformer';
import {
  IsBoolean,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { IsMetadata } from './is-metadata.js';
import { AgentConfigDto } from './agent-config.dto.js';
import type { RunState } from '../domain/run-state.js';

const MAX_PROMPT_CHARACTERS = 1_000_000;

/** A run to start. */
export class CreateRunRequest {
  /**
   * What the agent is to do. With the model `script` its fenced bash blocks are executed in their order.
   * @example "Say where you are:\n```bash\nhostname\n```"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_PROMPT_CHARACTERS)
  prompt: string;

  /**
   * A title; left out, the first line of the prompt.
   * @example "Where am I?"
   */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(500)
  title?: string;

  /** How the agent is to run. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AgentConfigDto)
  config?: AgentConfigDto;

  /**
   * Whether the team owns the run rather than the caller; by default it does where the caller has exactly one team.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  team?: boolean;

  /**
   * At most 20 pairs: keys of 1 to 64 characters of A-Z a-z 0-9 . _ -, values of at most 256 bytes. They never change.
   * @example { "ticket": "OPS-1142" }
   */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string>;
}

/** A run that was accepted. */
export class CreateRunResponse {
  /**
   * The run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  run_id: string;

  /**
   * The same id, under the name that older clients read.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  task_id: string;

  /**
   * Its state.
   * @example "QUEUED"
   */
  state: RunState;
}
