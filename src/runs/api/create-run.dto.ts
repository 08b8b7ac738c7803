import { Type } from 'class-transformer';
import {
  IsBoolean,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
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
   * What the agent is to do; required unless a skill or `conversation_id` is given. With the model `script` its fenced bash blocks are executed in their order.
   * @example "Say where you are:\n```bash\nhostname\n```"
   */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_PROMPT_CHARACTERS)
  prompt?: string;

  /**
   * The skill to carry out: `owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:name` or `name`. Its instructions become part of
   * the base prompt. It beats `config.skill_spec`.
   * @example "acme/shop:release"
   */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(1024)
  skill?: string;

  /**
   * The conversation to continue, of a run that you can read. One run at a time continues a conversation.
   * @example "019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7"
   */
  @IsOptional()
  @IsUUID()
  conversation_id?: string;

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
   * The agent identity of the team to execute the run as: its prompt, environment, model, harness, secrets, skills, MCP servers and
   * worker are taken where the request leaves them open.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  @IsOptional()
  @IsUUID()
  agent_identity_uid?: string;

  /**
   * Uid or e-mail address of the person for whom an agent identity starts the run; they become its creator.
   * @example "ada@example.com"
   */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(320)
  on_behalf_of?: string;

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
