import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { Problem } from '../../kernel/errors/problem.js';
import type { RunRequest } from '../application/prepare-run.js';
import type { StartedRun } from '../application/start-run.js';
import type { ApiSource } from '../domain/run-source.js';
import type { NewAttachment } from '../application/store-attachments.js';
import { RUN_MODES, type RunMode } from '../domain/run-mode.js';
import { AttachmentDto, toNewAttachment } from './attachment.dto.js';
import { IsMetadata } from './is-metadata.js';
import { AgentConfigDto } from './agent-config.dto.js';
import type { RunState } from '../domain/run-state.js';

const MAX_ATTACHMENTS = 5;
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

  /**
   * The run that this one is part of: its metadata is handed down, and the list finds this run by it. A run's own key makes children of
   * its run, so it may leave this out.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @IsOptional()
  @IsUUID()
  parent_run_id?: string;

  /**
   * Whether a person follows the run and will answer.
   * @example false
   */
  @IsOptional()
  @IsBoolean()
  interactive?: boolean;

  /**
   * How the agent goes about it: it works, plans alone, or hands the work to other runs.
   * @example "normal"
   */
  @IsOptional()
  @IsIn(RUN_MODES)
  @ApiProperty({ enum: RUN_MODES, required: false, default: 'normal' })
  mode?: RunMode;

  /** Files for the agent: at most 5 of 10 MiB each. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_ATTACHMENTS)
  @ValidateNested({ each: true })
  @Type(() => AttachmentDto)
  attachments?: AttachmentDto[];

  /** The same as `attachments`, as older clients say. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_ATTACHMENTS)
  @ValidateNested({ each: true })
  @Type(() => AttachmentDto)
  images?: AttachmentDto[];
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

  /**
   * True when the team has as many runs under way as it may: the run waits for one of them to end.
   * @example true
   */
  at_capacity?: boolean;

  /**
   * Of a run that you execute yourself (`X-Api-Source: LOCAL` or `GITHUB_ACTION`): the key to report with, shown this once and not in
   * the answer to a repeated `Idempotency-Key`. It dies with the execution.
   * @example "mw_4b1d0c7e9f2a4d6f8b0c1e3a5d7f9b1c3e5a7d9f"
   */
  run_key?: string;
}

export const toRunRequest = (request: CreateRunRequest, source: ApiSource): RunRequest => ({
  prompt: request.prompt,
  skill: request.skill,
  conversationId: request.conversation_id,
  config: request.config,
  title: request.title,
  team: request.team,
  agentIdentityUid: request.agent_identity_uid,
  onBehalfOf: request.on_behalf_of,
  metadata: request.metadata,
  parentRunId: request.parent_run_id,
  interactive: request.interactive,
  mode: request.mode,
  source,
});

export const toCreateRunResponse = ({ runId, state, atCapacity, runKey }: StartedRun): CreateRunResponse => ({
  run_id: runId,
  task_id: runId,
  state,
  at_capacity: atCapacity || undefined,
  run_key: runKey,
});

/** @throws Problem 400 when the files stand under both names */
export function attachmentsOf({ attachments, images }: CreateRunRequest): NewAttachment[] {
  if (attachments !== undefined && images !== undefined) {
    throw Problem.invalid([{ field: 'images', message: 'must be left out where attachments is given' }]);
  }
  return (attachments ?? images ?? []).map(toNewAttachment);
}
