import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNotEmpty,
  IsNumber,
  IsObject,
  IsOptional,
  IsRFC3339,
  IsString,
  IsUUID,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { McpServerDto } from '../../identities/index.js';
import { REPORTABLE_EVENT_TYPES, type ReportableEventType, type WaitingMessage } from '../../runs/index.js';
import { TolerateUnknownFields } from '../../kernel/http/request-validation.pipe.js';
import {
  type ClientEvent,
  type ExecutionView,
  type ExternalConversationRequest,
  type FinishTaskRequest,
  type ReportShutdownRequest,
  type ResolvedPrompt,
  type ResolvePromptRequest,
  type SetUpFailureRequest,
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
  type UploadTarget,
  type WaitingMessages,
  type WaitingMessage as WaitingMessageView,
  type UsageReport,
} from '../protocol/harness-support.js';

const MAX_SUMMARY = 100_000;
const MAX_NOTIFICATION = 10_000;
const MAX_MESSAGES = 1000;

/** The agent program that is to work on the run. */
export class ExecutionHarnessDto {
  /**
   * Which agent; `oz` is the built-in harness.
   * @example "oz"
   */
  @ApiProperty({ enum: ['oz', 'claude', 'gemini', 'codex'] })
  type: 'oz' | 'claude' | 'gemini' | 'codex';

  /**
   * Its model.
   * @example "script"
   */
  model_id: string;

  /**
   * How hard it is to think, in the words of the agent program. Absent: its own default.
   * @example "high"
   */
  reasoning_level?: string;
}

/** A file that the run was created with. */
export class ExecutionAttachmentDto {
  /**
   * Its id.
   * @example "019c3f0e-9b20-7d2f-a2f7-1e5f4be2b1c8"
   */
  attachment_id: string;

  /**
   * Its name, without a path.
   * @example "trace.log"
   */
  file_name: string;

  /**
   * Its media type.
   * @example "text/plain"
   */
  mime_type: string;

  /**
   * Where its bytes are to be had; it needs no key and expires.
   * @example "https://mill.example/objects/eyJvcGVyYXRpb24iOiJnZXQifQ.c2lnbmF0dXJl"
   */
  download_url: string;
}

/** A repository that is cloned before the agent begins. */
export class ExecutionRepositoryDto {
  /**
   * Whose it is.
   * @example "acme"
   */
  owner: string;

  /**
   * Its name.
   * @example "billing"
   */
  repo: string;
}

/** What is set up before the agent begins. */
export class ExecutionEnvironmentDto {
  /** Cloned, shallow, into the workspace. */
  repositories: ExecutionRepositoryDto[];

  /**
   * Where they are cloned from, as `{git_base_url}/{owner}/{repo}`.
   * @example "https://github.com"
   */
  git_base_url: string;

  /**
   * For repositories below that URL, where the team has one.
   * @example "ghs_16C7e42F292c6912E7710c838347Ae178B4a"
   */
  git_token?: string;

  /**
   * Executed with bash in the workspace, in this order; the first that fails ends the run.
   * @example ["npm ci"]
   */
  setup_commands: string[];
}

/** Everything that a runner needs to execute its run. */
@ApiExtraModels(McpServerDto)
export class ExecutionViewDto implements ExecutionView {
  /**
   * The run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  run_id: string;

  /**
   * The execution.
   * @example "42"
   */
  execution_id: string;

  /**
   * Set when the run continues a conversation.
   * @example "019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7"
   */
  conversation_id?: string;

  /** The agent program. */
  harness: ExecutionHarnessDto;

  /**
   * MCP servers that the agent is to have, by their names.
   * @example { "docs": { "url": "https://mcp.acme.example/docs" } }
   */
  @ApiProperty({ type: 'object', additionalProperties: { $ref: getSchemaPath(McpServerDto) } })
  mcp_servers: Record<string, McpServerDto>;

  /**
   * Added to the agent's environment: the secrets that it was granted.
   * @example { "DEPLOY_TOKEN": "…" }
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } })
  secrets: Record<string, string>;

  /**
   * Secrets that the agent was granted and that do not exist.
   * @example []
   */
  missing_secrets: string[];

  /** What to set up before the agent begins; absent for a run without an environment. */
  environment?: ExecutionEnvironmentDto;

  /**
   * The run's environment has been deleted: the run cannot be executed.
   * @example false
   */
  environment_missing: boolean;

  /** The files that the run was created with. */
  attachments: ExecutionAttachmentDto[];

  /**
   * How often a heartbeat is due, in seconds; three missed ones lose the lease.
   * @example 30
   */
  heartbeat_seconds: number;

  /**
   * An agent that says nothing for this many minutes is ended; 0 = never.
   * @example 30
   */
  stall_minutes: number;
}

/** A request without fields. */
@TolerateUnknownFields()
export class EmptyRequestDto {}

/** A skill that the agent has read itself. */
@TolerateUnknownFields()
export class ReadSkillDto {
  /**
   * Its name.
   * @example "release"
   */
  @IsString()
  name: string;

  /**
   * Its instructions, which stand in place of those of the run's own.
   * @example "Tag the commit, then publish."
   */
  @IsString()
  content: string;

  /**
   * Where it was read.
   * @example ".agents/skills/release/SKILL.md"
   */
  @IsOptional()
  @IsString()
  path?: string;
}

/** What an agent says of itself when it asks for its prompt. */
@TolerateUnknownFields()
export class ResolvePromptRequestDto implements ResolvePromptRequest {
  /** A skill that it has read itself. */
  @IsOptional()
  @ValidateNested()
  @Type(() => ReadSkillDto)
  skill?: ReadSkillDto;

  /**
   * Where it has put the run's files.
   * @example "/workspace/attachments"
   */
  @IsOptional()
  @IsString()
  attachments_dir?: string;
}

/** The texts for the agent. */
export class ResolvedPromptDto implements ResolvedPrompt {
  /**
   * What the agent is to do.
   * @example "Say where you are"
   */
  prompt: string;

  /**
   * Instructions that stand before every prompt.
   * @example "You maintain the web shop."
   */
  system_prompt?: string;

  /**
   * Set when a continuation brings no new message.
   * @example "Go on where you stopped."
   */
  resumption_prompt?: string;

  /**
   * What else the agent should know: with `attachments_dir`, which files it was given.
   * @example "The files that you were given are in /workspace/attachments: trace.log"
   */
  context?: string;
}

/** A message that waits for the agent. */
export class WaitingMessageDto implements WaitingMessageView {
  /**
   * Its id.
   * @example "3f6ad0a4-0d0f-4a4c-9d5a-9a0f6c9e2b11"
   */
  message_id: string;

  /**
   * What the agent is to do next.
   * @example "Now run the tests"
   */
  message: string;

  /**
   * How it is to go about it; absent: as before.
   * @example "normal"
   */
  @ApiProperty({ enum: ['normal', 'plan', 'orchestrate'], required: false })
  mode?: 'normal' | 'plan' | 'orchestrate';

  /**
   * What it is about, where its sender says so.
   * @example "Review"
   */
  subject?: string;

  /**
   * The run whose agent sent it; absent when a person did.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  sender_run_id?: string;
}

/** The messages that wait for the agent. */
export class WaitingMessagesDto implements WaitingMessages {
  /** In their order. */
  messages: WaitingMessageDto[];
}

export const toWaitingMessages = (messages: WaitingMessage[]): WaitingMessagesDto => ({
  messages: messages.map(({ id, message, mode, subject, senderRunId }) => ({
    message_id: id,
    message,
    mode: mode ?? undefined,
    subject: subject ?? undefined,
    sender_run_id: senderRunId ?? undefined,
  })),
});

/** The messages that the agent is told. */
@TolerateUnknownFields()
export class DeliveredMessagesDto {
  /**
   * Their ids.
   * @example ["3f6ad0a4-0d0f-4a4c-9d5a-9a0f6c9e2b11"]
   */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_MESSAGES)
  @IsUUID(undefined, { each: true })
  message_ids: string[];
}

/** Says that the environment could not be set up. */
@TolerateUnknownFields()
export class SetUpFailureRequestDto implements SetUpFailureRequest {
  /**
   * In words.
   * @example "npm ci exited with code 1"
   */
  @IsString()
  @MaxLength(MAX_SUMMARY)
  message: string;

  /**
   * Whether the runner can keep the session as it is.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  session_retained?: boolean;
}

/** What becomes of the session. */
export class SetUpFailureResponseDto {
  /**
   * Until when it is to be kept; absent: the runner ends as always.
   * @example "2026-11-21T09:45:04.120Z"
   */
  @ApiProperty({ format: 'date-time', required: false })
  session_debug_until?: string;
}

/** Opens the conversation of the run. */
@TolerateUnknownFields()
export class ExternalConversationRequestDto implements ExternalConversationRequest {
  /**
   * Format of the transcript.
   * @example "millwright_script"
   */
  @IsIn(TRANSCRIPT_FORMATS)
  @ApiProperty({ enum: TRANSCRIPT_FORMATS })
  format: TranscriptFormat;
}

/** The conversation of the run. */
export class ExternalConversationDto {
  /**
   * Its id.
   * @example "019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7"
   */
  conversation_id: string;
}

/** Asks where something of the conversation is to be put: its transcript, a snapshot of the terminal. */
@TolerateUnknownFields()
export class TranscriptRequestDto {
  /**
   * The conversation of the run.
   * @example "019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7"
   */
  @IsUUID()
  conversation_id: string;
}

/** Where bytes are to be put. */
export class UploadTargetDto implements UploadTarget {
  /**
   * The address; it needs no key and expires.
   * @example "https://mill.example/objects/eyJvcGVyYXRpb24iOiJwdXQifQ.c2lnbmF0dXJl"
   */
  url: string;

  /**
   * The method.
   * @example "PUT"
   */
  @ApiProperty({ enum: ['PUT', 'POST'] })
  method: 'PUT' | 'POST';

  /**
   * Headers to send.
   * @example { "Content-Type": "application/x-ndjson" }
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, nullable: true })
  headers: Record<string, string> | null;

  /** Fields of a multipart form to send; null: the body is the bytes themselves. */
  @ApiProperty({ type: 'array', items: { type: 'object' }, nullable: true, example: null })
  fields: null;
}

/** What an execution has used of models so far, in all. */
@TolerateUnknownFields()
export class UsageReportDto implements UsageReport {
  /**
   * Tokens of every kind: input, cached input, output.
   * @example 48211
   */
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  total_tokens: number;

  /**
   * In US dollars, where the agent tells it.
   * @example 0.4311
   */
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(10_000_000)
  cost_usd?: number;
}

/** What an agent tells the person who follows its run. */
@TolerateUnknownFields()
export class NotifyUserRequestDto {
  /**
   * In words.
   * @example "The migration is written; I run the tests now"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_NOTIFICATION)
  message: string;
}

/** The outcome as the agent sees it. */
@TolerateUnknownFields()
export class FinishTaskRequestDto implements FinishTaskRequest {
  /**
   * Whether the agent did what it was asked to do.
   * @example true
   */
  @IsBoolean()
  success: boolean;

  /**
   * What it did, or why it could not.
   * @example "1 command succeeded"
   */
  @IsString()
  @MaxLength(MAX_SUMMARY)
  summary: string;
}

/** Why an agent ended without a result. */
export class ShutdownErrorDto {
  /**
   * An error code of a run's status message, or a worker's category such as `oom`.
   * @example "integration_not_configured"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(256)
  category: string;

  /**
   * In words.
   * @example "The prompt has no fenced bash block"
   */
  @IsString()
  @MaxLength(MAX_SUMMARY)
  message: string;
}

/** The last report of an execution. */
@TolerateUnknownFields()
export class ReportShutdownRequestDto implements ReportShutdownRequest {
  /** Set when the agent ended without a result of its own. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => ShutdownErrorDto)
  error?: ShutdownErrorDto;
}

/** Something that happened while a run was set up or executed. */
@TolerateUnknownFields()
export class ClientEventDto implements ClientEvent {
  /**
   * Chosen by whoever reports it: a second report of the same event changes nothing.
   * @example "3f6ad0a4-0d0f-4a4c-9d5a-9a0f6c9e2b11"
   */
  @IsUUID()
  event_uuid: string;

  /**
   * What happened.
   * @example "agent_started"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(128)
  event_name: string;

  /**
   * When.
   * @example "2026-11-21T09:30:01.120Z"
   */
  // The one judges the form (no week dates), the other the calendar (no 30 February).
  @IsRFC3339()
  @IsISO8601({ strict: true })
  timestamp: string;

  /**
   * What there is to know about it.
   * @example { "latency_ms": 120 }
   */
  @IsOptional()
  @IsObject()
  payload?: Record<string, unknown>;
}

/** A change in an execution's life. */
@TolerateUnknownFields()
export class LifecycleEventDto {
  /**
   * What happened. `run_in_progress` marks the run INPROGRESS, `run_blocked` BLOCKED: it waits for a person; `run_session_linked` tells
   * those who follow it of a session that can be watched.
   * @example "run_in_progress"
   */
  @IsString()
  @IsIn(REPORTABLE_EVENT_TYPES)
  @ApiProperty({ enum: REPORTABLE_EVENT_TYPES })
  event_type: ReportableEventType;

  /**
   * What it is about besides the run, such as the session.
   * @example "3f6ad0a4-0d0f-4a4c-9d5a-9a0f6c9e2b11"
   */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  ref_id?: string;
}

/** How far an agent has read the events that it follows. */
@TolerateUnknownFields()
export class EventSequenceDto {
  /**
   * The sequence number of the last event that it has seen.
   * @example 1742
   */
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  sequence: number;
}

/** The place of an event in the order of all events. */
export class LifecycleEventResponseDto {
  /**
   * Its sequence number.
   * @example 1742
   */
  sequence: number;
}
