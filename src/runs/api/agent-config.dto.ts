import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  IsUrl,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { IsRecordOf } from '../../kernel/http/is-record-of.js';
import { ForbidTogether } from '../../kernel/http/forbid-together.js';
import { type AgentConfig, HARNESS_TYPES, type HarnessType } from '../domain/agent-config.js';

const ENVIRONMENT_ID = /^[A-Za-z0-9]{22}$/;
const SHORT = 256;
const LONG = 100_000;

/** The agent program that works on a run. */
export class HarnessDto {
  /**
   * Which agent; `oz`, or absent, is the built-in harness.
   * @example "oz"
   */
  @IsOptional()
  @IsIn(HARNESS_TYPES)
  @ApiProperty({ enum: HARNESS_TYPES, required: false })
  type?: HarnessType;

  /**
   * The model of this harness.
   * @example "claude-sonnet-5"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
  model_id?: string;

  /**
   * How much the model reasons, in the words of its provider.
   * @example "high"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
  reasoning_level?: string;
}

/** An MCP server that the agent can use: exactly one of `warp_id`, `command` and `url`. */
export class McpServerDto {
  /**
   * A server that is configured elsewhere, by its id.
   * @example "0b7d6c9e"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
  @ForbidTogether(['command', 'url'])
  warp_id?: string;

  /**
   * A program that speaks MCP on its standard streams.
   * @example "npx"
   */
  @IsOptional()
  @IsString()
  @MaxLength(4096)
  @ForbidTogether(['warp_id', 'url'])
  command?: string;

  /**
   * Arguments of `command`.
   * @example ["-y", "@modelcontextprotocol/server-github"]
   */
  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  args?: string[];

  /**
   * Environment of `command`.
   * @example { "LOG_LEVEL": "info" }
   */
  @IsOptional()
  @IsRecordOf('string')
  env?: Record<string, string>;

  /**
   * Address of a server that speaks MCP over HTTP.
   * @example "https://mcp.example.com/sse"
   */
  @ValidateIf((server: McpServerDto) => server.url !== undefined || !(server.warp_id ?? server.command))
  @IsUrl({ protocols: ['http', 'https'], require_protocol: true, require_tld: false })
  url?: string;

  /**
   * Headers for `url`.
   * @example { "X-Region": "eu" }
   */
  @IsOptional()
  @IsRecordOf('string')
  headers?: Record<string, string>;
}

/** Names of the managed secrets that the agent CLIs authenticate with. */
export class HarnessAuthSecretsDto {
  /**
   * For the `claude` harness.
   * @example "ANTHROPIC_API_KEY"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
  claude_auth_secret_name?: string;

  /**
   * For the `codex` harness.
   * @example "OPENAI_API_KEY"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
  codex_auth_secret_name?: string;
}

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

/** A store of memories that the agent can use. */
export class MemoryStoreDto {
  /**
   * The store.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @IsString()
  @IsNotEmpty()
  uid: string;

  /**
   * What the agent may do with it.
   * @example "read_only"
   */
  @IsIn(['read_write', 'read_only'])
  @ApiProperty({ enum: ['read_write', 'read_only'] })
  access: 'read_write' | 'read_only';

  /**
   * What the agent is told about it.
   * @example "House style of the web team"
   */
  @IsString()
  @MaxLength(LONG)
  instructions: string;
}

/** Inference through Amazon Bedrock. */
export class AwsInferenceDto {
  /**
   * Whether Bedrock is switched off for the run.
   * @example false
   */
  @IsOptional()
  @IsBoolean()
  disabled?: boolean;

  /**
   * AWS region.
   * @example "eu-central-1"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
  region?: string;

  /**
   * Role to assume.
   * @example "arn:aws:iam::123456789012:role/inference"
   */
  @IsOptional()
  @IsString()
  @MaxLength(2048)
  role_arn?: string;
}

/** Where inference is billed. */
export class InferenceProvidersDto {
  /** Amazon Bedrock. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AwsInferenceDto)
  aws?: AwsInferenceDto;
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
  @MaxLength(SHORT)
  name?: string;

  /**
   * The model of the built-in harness. `script` executes the fenced bash blocks of the prompt.
   * @example "script"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
  model_id?: string;

  /**
   * Instructions that stand before every prompt.
   * @example "You maintain the web shop."
   */
  @IsOptional()
  @IsString()
  @MaxLength(LONG)
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
  @MaxLength(SHORT)
  runner_id?: string;

  /**
   * One skill, as `owner/repo:path/SKILL.md`; not together with `skills`.
   * @example "acme/shop:skills/release/SKILL.md"
   */
  @IsOptional()
  @IsString()
  @MaxLength(1024)
  @ForbidTogether(['skills'])
  skill_spec?: string;

  /**
   * Several skills; not together with `skill_spec`.
   * @example ["acme/shop:skills/release/SKILL.md"]
   */
  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  @MaxLength(1024, { each: true })
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
   * @example "claude-sonnet-5"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT)
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
  @MaxLength(SHORT)
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
