import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsInt,
  IsISO8601,
  IsOptional,
  IsRFC3339,
  IsString,
  IsUUID,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { TolerateUnknownFields } from '../../kernel/http/request-validation.pipe.js';
import type { RunMessageView } from '../domain/run-message-view.js';

const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 100;
const MAX_RECIPIENTS = 20;
const MAX_SUBJECT = 1024;
const MAX_BODY = 1_000_000;

/** Which messages of a run are listed. */
export class ListMessagesQuery {
  /**
   * How many at most, 1 to 500.
   * @example 100
   */
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  @ApiProperty({ required: false, default: DEFAULT_LIMIT, minimum: 1, maximum: MAX_LIMIT })
  limit: number = DEFAULT_LIMIT;

  /**
   * `true`: those alone whose text its agent has not asked for.
   * @example "true"
   */
  @IsOptional()
  @IsIn(['true', 'false'])
  @ApiProperty({ enum: ['true', 'false'], required: false, default: 'false' })
  unread?: 'true' | 'false';

  /**
   * Those that were sent after this time.
   * @example "2026-11-21T09:30:00Z"
   */
  @IsOptional()
  @IsRFC3339()
  @IsISO8601({ strict: true })
  since?: string;
}

/** A message to a run, without its text. */
export class RunMessageHeaderResponse {
  /**
   * Its id.
   * @example "3f6ad0a4-0d0f-4a4c-9d5a-9a0f6c9e2b11"
   */
  message_id: string;

  /**
   * The run whose agent sent it; null when a person did.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @ApiProperty({ type: String, nullable: true })
  sender_run_id: string | null;

  /**
   * What it is about.
   * @example "Review"
   */
  subject: string;

  /**
   * When it was sent.
   * @example "2026-11-21T09:30:01.120Z"
   */
  @ApiProperty({ format: 'date-time' })
  sent_at: string;

  /**
   * When an agent was told; null while it waits.
   * @example null
   */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  delivered_at: string | null;

  /**
   * When an agent asked for its text.
   * @example null
   */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  read_at: string | null;
}

/** A message to a run. */
export class RunMessageResponse extends RunMessageHeaderResponse {
  /**
   * Its text.
   * @example "Look at the second commit, please."
   */
  body: string;
}

/** Sends a message to the agents of other runs. */
@TolerateUnknownFields()
export class SendMessageRequest {
  /**
   * Runs of the sender's tree, at most 20.
   * @example ["019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"]
   */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_RECIPIENTS)
  @IsUUID(undefined, { each: true })
  to: string[];

  /**
   * What it is about.
   * @example "Review"
   */
  @IsString()
  @MaxLength(MAX_SUBJECT)
  subject: string;

  /**
   * Its text.
   * @example "Look at the second commit, please."
   */
  @IsString()
  @MaxLength(MAX_BODY)
  body: string;

  /**
   * The run that sends it: the one whose key this is.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  @IsOptional()
  @IsUUID()
  sender_run_id?: string;
}

/** The messages that were sent. */
export class SendMessageResponse {
  /**
   * Their ids, in the order of the recipients.
   * @example ["3f6ad0a4-0d0f-4a4c-9d5a-9a0f6c9e2b11"]
   */
  message_ids: string[];
}

export const toRunMessageHeader = (message: RunMessageView): RunMessageHeaderResponse => headerOf(message);

export const toRunMessageResponse = (message: RunMessageView & { message: string }): RunMessageResponse => ({
  ...headerOf(message),
  body: message.message,
});

const headerOf = (message: RunMessageView) => ({
  message_id: message.id,
  sender_run_id: message.sender_run_id,
  subject: message.subject ?? '',
  sent_at: message.sent_at.toISOString(),
  delivered_at: message.delivered_at?.toISOString() ?? null,
  read_at: message.read_at?.toISOString() ?? null,
});
