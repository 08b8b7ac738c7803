import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import type { ActionCategory, Block, Conversation, Message, Step } from '../domain/conversation.js';

const CATEGORIES: ActionCategory[] = [
  'command',
  'files',
  'search',
  'integration',
  'documents',
  'computer',
  'review',
  'skill',
];

/** Something that was said. */
export class TextBlock {
  /**
   * Marks the kind of block.
   * @example "text"
   */
  @ApiProperty({ enum: ['text'] })
  type: 'text';

  /**
   * The text.
   * @example "1 command succeeded"
   */
  text: string;

  /**
   * The message that it belongs to, as the agent names it.
   * @example "m1"
   */
  message_id?: string;
}

/** Something that the agent did. */
export class ActionBlock {
  /**
   * Marks the kind of block.
   * @example "action"
   */
  @ApiProperty({ enum: ['action'] })
  type: 'action';

  /**
   * Links the action to its result.
   * @example "c1"
   */
  id: string;

  /**
   * What kind of action.
   * @example "command"
   */
  @ApiProperty({ enum: CATEGORIES })
  category: ActionCategory;

  /**
   * Its name.
   * @example "run_command"
   */
  name: string;

  /**
   * What went into it.
   * @example { "command": "hostname" }
   */
  input: Record<string, unknown>;

  /**
   * The message that it belongs to, as the agent names it.
   * @example "m1"
   */
  message_id?: string;
}

/** What came of an action. */
export class ActionResultBlock {
  /**
   * Marks the kind of block.
   * @example "action_result"
   */
  @ApiProperty({ enum: ['action_result'] })
  type: 'action_result';

  /**
   * The action.
   * @example "c1"
   */
  action_id: string;

  /**
   * What kind of action.
   * @example "command"
   */
  @ApiProperty({ enum: CATEGORIES })
  category: ActionCategory;

  /**
   * Its name.
   * @example "run_command"
   */
  name: string;

  /**
   * How it went.
   * @example "completed"
   */
  @ApiProperty({ enum: ['running', 'completed', 'failed', 'denied'] })
  state: 'running' | 'completed' | 'failed' | 'denied';

  /**
   * What came out of it.
   * @example { "output": "mill-1\n", "exit_code": 0 }
   */
  output: Record<string, unknown>;

  /**
   * The message that it belongs to, as the agent names it.
   * @example "m1"
   */
  message_id?: string;
}

/** Something else that happened. */
export class EventBlock {
  /**
   * Marks the kind of block.
   * @example "event"
   */
  @ApiProperty({ enum: ['event'] })
  type: 'event';

  /**
   * What happened.
   * @example "turn_completed"
   */
  name: string;

  /**
   * What there is to know about it.
   * @example { "success": true, "duration_ms": 412 }
   */
  data: Record<string, unknown>;

  /**
   * The message that it belongs to, as the agent names it.
   * @example "m1"
   */
  message_id?: string;
}

const BLOCKS = [TextBlock, ActionBlock, ActionResultBlock, EventBlock];

/** A message of a conversation. */
@ApiExtraModels(...BLOCKS)
export class MessageResponse implements Message {
  /**
   * Who it is from.
   * @example "assistant"
   */
  @ApiProperty({ enum: ['user', 'assistant', 'tool', 'system'] })
  role: 'user' | 'assistant' | 'tool' | 'system';

  /** What it consists of. */
  @ApiProperty({ type: 'array', items: { oneOf: BLOCKS.map((block) => ({ $ref: getSchemaPath(block) })) } })
  content: Block[];

  /**
   * The messages of the agent that it was made of.
   * @example ["m1"]
   */
  message_ids?: string[];

  /**
   * The request to the model that it came from.
   * @example "req_011C"
   */
  request_id?: string;

  /**
   * When.
   * @example "2026-11-21T09:30:02.000Z"
   */
  timestamp?: string;
}

/** A turn of a conversation. */
export class StepResponse implements Step {
  /**
   * The step.
   * @example "m1"
   */
  id: string;

  /**
   * What was asked for.
   * @example "Say where you are"
   */
  description?: string;

  /**
   * What came of it.
   * @example "1 command succeeded"
   */
  summary?: string;

  /**
   * When it began.
   * @example "2026-11-21T09:30:01.502Z"
   */
  started_at?: string;

  /**
   * When it was done; absent while it is not.
   * @example "2026-11-21T09:30:04.120Z"
   */
  completed_at?: string;

  /** Its messages in their order. */
  messages: MessageResponse[];

  /** The steps of sub-agents. */
  @ApiProperty({ type: () => [StepResponse] })
  steps: StepResponse[];
}

/** A conversation in the form that is the same for every agent. */
export class ConversationResponse implements Conversation {
  /**
   * The conversation.
   * @example "019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7"
   */
  conversation_id: string;

  /** Its steps in their order. */
  steps: StepResponse[];
}

/** Where a link leads. */
export class ConversationLinkResponse {
  /**
   * The conversation; absent while an agent is at work on it, or when there is none.
   * @example "019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7"
   */
  conversation_id?: string;
}
