import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
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
  Matches,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { IsRecordOf } from '../../kernel/http/is-record-of.js';
import {
  type AgentIdentity,
  type AgentMemory,
  type AgentSettings,
  NO_MEMORY,
} from '../domain/agent-identity.js';
import {
  CREDENTIAL_STRATEGIES,
  type CredentialStrategy,
  HARNESS_TYPES,
  type HarnessType,
} from '../domain/agent-settings.js';
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
} from './agent-settings.dto.js';

/** Secrets, skills and memory stores of one agent at most. */
const MAX_ITEMS = 100;
const DESCRIPTION_LENGTH = 4096;

/** A managed secret, by its name. */
export class SecretNameDto {
  /**
   * Its name.
   * @example "DEPLOY_TOKEN"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(SHORT_TEXT)
  name: string;
}

/** What the agent remembers by itself. */
export class AutoMemoryDto {
  /**
   * Whether it does.
   * @example false
   */
  @IsOptional()
  @IsBoolean()
  enabled?: boolean;
}

/** What the agent remembers from run to run. */
export class AgentMemoryRequest {
  /** What it remembers by itself. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AutoMemoryDto)
  auto_memory?: AutoMemoryDto;

  /** Stores that it can use. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_ITEMS)
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => MemoryStoreDto)
  attached_stores?: MemoryStoreDto[];
}

/** What can be set of an agent identity. */
@ApiExtraModels(McpServerDto)
class AgentSettingsRequest {
  /**
   * What it is there for.
   * @example "Keeps dependencies fresh"
   */
  @IsOptional()
  @IsString()
  @MaxLength(DESCRIPTION_LENGTH)
  description?: string;

  /**
   * Instructions that stand before every prompt.
   * @example "You maintain the web shop."
   */
  @IsOptional()
  @IsString()
  @MaxLength(LONG_TEXT)
  prompt?: string;

  /**
   * The environment to work in; empty = none.
   * @example "7cRkJ2wq0nUeXb5TzLsV1A"
   */
  @IsOptional()
  @Matches(new RegExp(`${ENVIRONMENT_ID.source}|^$`), {
    message: 'must be 22 characters of A-Z, a-z and 0-9, or empty',
  })
  environment_id?: string;

  /**
   * The model of the built-in harness; empty = the team's default.
   * @example "script"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  base_model?: string;

  /**
   * The agent program, where `harness` is not set; empty = none.
   * @example "oz"
   */
  @IsOptional()
  @IsIn([...HARNESS_TYPES, ''])
  @ApiProperty({ enum: [...HARNESS_TYPES, ''], required: false })
  base_harness?: HarnessType | '';

  /** The agent program; `{}` = none. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => HarnessDto)
  harness?: HarnessDto;

  /** Credentials of the agent program; `{}` = none. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => HarnessAuthSecretsDto)
  harness_auth_secrets?: HarnessAuthSecretsDto;

  /** The team's secrets that its executions get. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_ITEMS)
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => SecretNameDto)
  secrets?: SecretNameDto[];

  /**
   * Skills that it has, as `owner/repo:path/SKILL.md`.
   * @example ["acme/shop:skills/release/SKILL.md"]
   */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_ITEMS)
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  @MaxLength(SKILL_SPEC_LENGTH, { each: true })
  skills?: string[];

  /**
   * MCP servers by name; `{}` = none.
   * @example { "github": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"] } }
   */
  @IsOptional()
  @IsRecordOf(() => McpServerDto)
  @ApiPropertyOptional({ type: 'object', additionalProperties: { $ref: getSchemaPath(McpServerDto) } })
  mcp_servers?: Record<string, McpServerDto>;

  /** What it remembers from run to run; `{}` = nothing. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AgentMemoryRequest)
  memory?: AgentMemoryRequest;

  /**
   * The machine shape to run on; empty = the default.
   * @example "default"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  default_runner_uid?: string;

  /** Inference providers; `{}` = none. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => InferenceProvidersDto)
  inference_providers?: InferenceProvidersDto;

  /**
   * Whose credentials it uses; empty = not set.
   * @example "EXECUTOR"
   */
  @IsOptional()
  @IsIn([...CREDENTIAL_STRATEGIES, ''])
  @ApiProperty({ enum: [...CREDENTIAL_STRATEGIES, ''], required: false })
  credential_strategy?: CredentialStrategy | '';

  /**
   * Whether it may start runs on behalf of a member of the team.
   * @example false
   */
  @IsOptional()
  @IsBoolean()
  on_behalf_of_enabled?: boolean;

  /**
   * The self-hosted worker that executes its runs; empty or `warp` = the hosted pool.
   * @example "build-box"
   */
  @IsOptional()
  @IsString()
  @MaxLength(SHORT_TEXT)
  worker_host?: string;
}

/** A new agent identity. */
export class CreateAgentIdentityRequest extends AgentSettingsRequest {
  /**
   * Its name.
   * @example "Gardener"
   */
  @IsString()
  @Matches(/\S/, { message: 'must not be empty' })
  @MaxLength(SHORT_TEXT)
  name: string;
}

/** Changes to an agent identity: what is left out or null stays, what is empty is cleared, a value replaces what was there. */
export class UpdateAgentIdentityRequest extends AgentSettingsRequest {
  /**
   * Its name.
   * @example "Gardener"
   */
  @IsOptional()
  @IsString()
  @Matches(/\S/, { message: 'must not be empty' })
  @MaxLength(SHORT_TEXT)
  name?: string;
}

/** What the agent remembers by itself. */
export class AutoMemoryResponse {
  /**
   * Whether it does.
   * @example false
   */
  enabled: boolean;
}

/** What the agent remembers from run to run. */
export class AgentMemoryResponse implements AgentMemory {
  /** What it remembers by itself. */
  auto_memory: AutoMemoryResponse;

  /** Stores that it can use. */
  attached_stores: MemoryStoreDto[];
}

/** An agent identity: a service account of its team, and how the runs that are executed as it are configured. */
export class AgentIdentityResponse {
  /**
   * The agent.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  uid: string;

  /**
   * Its name.
   * @example "Gardener"
   */
  name: string;

  /**
   * Whether it is within the team's plan and may be used for runs; the oldest are.
   * @example true
   */
  available: boolean;

  /**
   * When it was made.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /**
   * When it last changed.
   * @example "2026-11-21T09:30:04.120Z"
   */
  @ApiProperty({ format: 'date-time' })
  updated_at: string;

  /** The team's secrets that its executions get. */
  secrets: SecretNameDto[];

  /**
   * Skills that it has.
   * @example ["acme/shop:skills/release/SKILL.md"]
   */
  skills: string[];

  /** What it remembers from run to run. */
  memory: AgentMemoryResponse;

  /**
   * The machine shape to run on; empty = the default.
   * @example ""
   */
  default_runner_uid: string;

  /**
   * What it is there for.
   * @example "Keeps dependencies fresh"
   */
  @ApiProperty({ nullable: true, required: false, type: String })
  description?: string | null;

  /**
   * Instructions that stand before every prompt.
   * @example "You maintain the web shop."
   */
  @ApiProperty({ nullable: true, required: false, type: String })
  prompt?: string | null;

  /**
   * The environment to work in.
   * @example "7cRkJ2wq0nUeXb5TzLsV1A"
   */
  environment_id?: string;

  /**
   * The model of the built-in harness.
   * @example "script"
   */
  base_model?: string;

  /**
   * MCP servers by name.
   * @example { "github": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"] } }
   */
  @ApiPropertyOptional({ type: 'object', additionalProperties: { $ref: getSchemaPath(McpServerDto) } })
  mcp_servers?: Record<string, McpServerDto>;

  /**
   * The agent program, where `harness` is not set.
   * @example "oz"
   */
  @ApiProperty({ enum: HARNESS_TYPES, required: false })
  base_harness?: HarnessType;

  /** The agent program. */
  harness?: HarnessDto;

  /** Credentials of the agent program. */
  harness_auth_secrets?: HarnessAuthSecretsDto;

  /**
   * Whose credentials it uses.
   * @example "EXECUTOR"
   */
  @ApiProperty({ enum: CREDENTIAL_STRATEGIES, required: false })
  credential_strategy?: CredentialStrategy;

  /** Inference providers. */
  inference_providers?: InferenceProvidersDto;

  /**
   * Whether it may start runs on behalf of a member of the team.
   * @example false
   */
  on_behalf_of_enabled?: boolean;

  /**
   * The self-hosted worker that executes its runs.
   * @example "build-box"
   */
  worker_host?: string;
}

/** Agent identities. */
export class ListAgentIdentitiesResponse {
  /** The team's, the oldest first. */
  agents: AgentIdentityResponse[];
}

/** What a request sets: undefined for what it leaves as it is, null for what it clears. */
export function toAgentSettings(request: UpdateAgentIdentityRequest): Partial<AgentSettings> {
  return {
    name: request.name ?? undefined,
    description: nullIfEmpty(request.description),
    prompt: nullIfEmpty(request.prompt),
    environmentId: nullIfEmpty(request.environment_id),
    baseModel: nullIfEmpty(request.base_model),
    baseHarness: nullIfEmpty(request.base_harness),
    harness: nullIfBare(request.harness),
    harnessAuthSecrets: nullIfBare(request.harness_auth_secrets),
    secrets: request.secrets?.map(({ name }) => name),
    skills: request.skills ?? undefined,
    mcpServers: nullIfBare(request.mcp_servers),
    memory: request.memory ? toMemory(request.memory) : undefined,
    inferenceProviders: nullIfBare(request.inference_providers),
    credentialStrategy: nullIfEmpty(request.credential_strategy),
    defaultRunnerUid: request.default_runner_uid ?? undefined,
    onBehalfOfEnabled: request.on_behalf_of_enabled ?? undefined,
    workerHost: nullIfEmpty(request.worker_host),
  };
}

const toMemory = (memory: AgentMemoryRequest): AgentMemory => ({
  auto_memory: { enabled: memory.auto_memory?.enabled ?? NO_MEMORY.auto_memory.enabled },
  attached_stores: memory.attached_stores ?? NO_MEMORY.attached_stores,
});

function nullIfEmpty<T extends string>(text: T | '' | null | undefined): T | null | undefined {
  return text === '' ? null : (text ?? undefined);
}

/** Members that are null are as good as left out, at every depth; an object without any is null. */
function nullIfBare<T extends object>(object: T | null | undefined): T | null | undefined {
  if (object === null || object === undefined) return undefined;
  const bare = JSON.parse(
    JSON.stringify(object, (_key, value: unknown) => (value === null ? undefined : value)),
  ) as T;
  return Object.keys(bare).length === 0 ? null : bare;
}

export function toAgentIdentityResponse(agent: AgentIdentity): AgentIdentityResponse {
  return {
    uid: agent.uid,
    name: agent.name,
    available: agent.available,
    created_at: agent.createdAt.toISOString(),
    updated_at: agent.updatedAt.toISOString(),
    secrets: agent.secrets.map((name) => ({ name })),
    skills: agent.skills,
    memory: agent.memory,
    default_runner_uid: agent.defaultRunnerUid,
    description: agent.description,
    prompt: agent.prompt,
    environment_id: agent.environmentId ?? undefined,
    base_model: agent.baseModel ?? undefined,
    mcp_servers: agent.mcpServers ?? undefined,
    base_harness: agent.baseHarness ?? undefined,
    harness: agent.harness ?? undefined,
    harness_auth_secrets: agent.harnessAuthSecrets ?? undefined,
    credential_strategy: agent.credentialStrategy ?? undefined,
    inference_providers: agent.inferenceProviders ?? undefined,
    on_behalf_of_enabled: agent.onBehalfOfEnabled,
    worker_host: agent.workerHost ?? undefined,
  };
}
