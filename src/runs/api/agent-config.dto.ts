import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  ENVIRONMENT_ID,
  HarnessAuthSecretsDto,
  HarnessDto,
  InferenceProvidersDto,
  LONG_TEXT,
  McpServerDto,
  MemoryStoreDto,
  SHORT_TEXT,
  SKILL_SPEC_LENGTH,
} from '../../identities/index.js';
import { ForbidTogether } from '../../kernel/http/forbid-together.js';
import { IsRecordOf } from '../../kernel/http/is-record-of.js';
import type { AgentConfig } from '../domain/agent-config.js';

/** Who else can follow the agent's session. */
export class SessionSharingDto {
  /**
   * What anybody with the link can do.
   * @example "VIEWER"
   */
  @IsOptional()
  @IsIn(['VIEWER', 'EDITOR'])
  @ApiProperty({ enum: ['VIEWER', 'EDITOR'], required: false })
  public_access?: 'VIEWER' | 'EDITOR';
}

/** How an agent is to run. Every field that is left out is resolved from the next less specific configuration. */
@ApiExtraModels(McpServerDto)
export class AgentConfigDto implements AgentConfig {
  /**
   * A name to find the runs of this configuration by.
   * @example "nightly-backup"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  name?: string;

  /**
   * The model of the built-in harness. `script` executes the fenced bash blocks of the prompt.
   * @example "script"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  model_id?: string;

  /**
   * Instructions that stand before every prompt.
   * @example "You maintain the web shop."
   */
  @IsOptional()
  @IsString()
  @MaxLength(LONG_TEXT)
  base_prompt?: string;

  /**
   * The environment to work in.
   * @example "7cRkJ2wq0nUeXb5TzLsV1A"
   */
  @IsOptional()
  @Matches(ENVIRONMENT_ID, { message: 'must be 22 characters of A-Z, a-z and 0-9' })
  environment_id?: string;

  /**
   * The machine shape to run on.
   * @example "default"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  runner_id?: string;

  /**
   * One skill, as `owner/repo:path/SKILL.md`; not together with `skills`.
   * @example "acme/shop:skills/release/SKILL.md"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SKILL_SPEC_LENGTH)
  @ForbidTogether(['skills'])
  skill_spec?: string;

  /**
   * Several skills; not together with `skill_spec`.
   * @example ["acme/shop:skills/release/SKILL.md"]
   */
  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  @MaxLength(SKILL_SPEC_LENGTH, { each: true })
  skills?: string[];

  /**
   * MCP servers by name.
   * @example { "github": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"] } }
   */
  @IsOptional()
  @IsRecordOf(() => McpServerDto)
  @ApiPropertyOptional({ type: 'object', additionalProperties: { $ref: getSchemaPath(McpServerDto) } })
  mcp_servers?: Record<string, McpServerDto>;

  /**
   * Whether the agent can use a computer's screen.
   * @example false
   */
  @IsOptional()
  @IsBoolean()
  computer_use_enabled?: boolean;

  /**
   * The model that uses the screen.
   * @example "claude-sonnet-5-5"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  computer_use_model_id?: string;

  /**
   * How long the agent waits for a follow-up when it is done.
   * @example 10
   */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(60)
  idle_timeout_minutes?: number;

  /**
   * The self-hosted worker that is to execute the run; empty, absent or `warp` is the hosted pool.
   * @example "build-box"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  worker_host?: string;

  /** The agent program. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => HarnessDto)
  harness?: HarnessDto;

  /** Credentials of the agent program. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => HarnessAuthSecretsDto)
  harness_auth_secrets?: HarnessAuthSecretsDto;

  /** Sharing of the session. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => SessionSharingDto)
  session_sharing?: SessionSharingDto;

  /** Memory stores. */
  @IsOptional()
  @IsArray()
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => MemoryStoreDto)
  memory_stores?: MemoryStoreDto[];

  /** Inference providers. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => InferenceProvidersDto)
  inference_providers?: InferenceProvidersDto;

  /**
   * Whose credentials the agent uses.
   * @example "EXECUTOR"
   */
  @IsOptional()
  @IsIn(['CREATOR', 'EXECUTOR'])
  @ApiProperty({ enum: ['CREATOR', 'EXECUTOR'], nullable: true, required: false, type: String })
  credential_strategy?: 'CREATOR' | 'EXECUTOR' | null;
}
