import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  IsUrl,
  MaxLength,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { ForbidTogether } from '../../kernel/http/forbid-together.js';
import { IsRecordOf } from '../../kernel/http/is-record-of.js';
import {
  type Harness,
  HARNESS_TYPES,
  type HarnessAuthSecrets,
  type HarnessType,
  type InferenceProviders,
  type McpServer,
  type MemoryStore,
} from '../domain/agent-settings.js';

/** Characters of an environment's id. */
export const ENVIRONMENT_ID = /^[A-Za-z0-9]{22}$/;
/** Characters of a name or an id at most. */
export const SHORT_TEXT = 256;
/** Characters of a prompt or of instructions at most. */
export const LONG_TEXT = 100_000;
/** Characters of a skill's `owner/repo:path/SKILL.md` at most. */
export const SKILL_SPEC_LENGTH = 1024;

/** The agent program that works on a run. */
export class HarnessDto implements Harness {
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
   * @example "claude-sonnet-5-5"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  model_id?: string;

  /**
   * How much the model reasons, in the words of its provider.
   * @example "high"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  reasoning_level?: string;
}

/** An MCP server that the agent can use: exactly one of `warp_id`, `command` and `url`. */
export class McpServerDto implements McpServer {
  /**
   * A server that is configured elsewhere, by its id.
   * @example "0b7d6c9e"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
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
export class HarnessAuthSecretsDto implements HarnessAuthSecrets {
  /**
   * For the `claude` harness.
   * @example "ANTHROPIC_API_KEY"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  claude_auth_secret_name?: string;

  /**
   * For the `codex` harness.
   * @example "OPENAI_API_KEY"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  codex_auth_secret_name?: string;
}

/** A store of memories that the agent can use. */
export class MemoryStoreDto implements MemoryStore {
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
  @MaxLength(LONG_TEXT)
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
  @MaxLength(SHORT_TEXT)
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
export class InferenceProvidersDto implements InferenceProviders {
  /** Amazon Bedrock. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AwsInferenceDto)
  aws?: AwsInferenceDto;
}
