import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  type ApiPropertyOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  IsBoolean,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Matches,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { LONG_TEXT } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { AgentConfigDto } from '../../runs/index.js';
import { RESOURCE_NAME, RESOURCE_NAME_LENGTH, RESOURCE_NAME_RULE } from '../../webhooks/index.js';
import type { AutomationView } from '../application/automations.js';
import type { AutomationSettings, ScheduleTrigger, Trigger, WebhookTrigger } from '../domain/automation.js';
import { parseTriggers } from '../domain/parse-triggers.js';

/** Which deliveries a trigger takes. */
export class WebhookTriggerFilter {
  /**
   * The webhooks of the factory whose deliveries count, by their uids.
   * @example ["019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"]
   */
  @ApiProperty({ type: 'array', items: { type: 'string', format: 'uuid' }, maxItems: 20 })
  webhook_ids: string[];

  /**
   * What a payload must hold; without it every delivery counts. It mirrors the payload: a list names the values that a field may hold,
   * an object of `in`, `not_in` and `exists` says it more precisely, and any other object reaches into the field.
   * @example { "action": ["opened"], "pull_request": { "draft": { "not_in": [true] } } }
   */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true })
  payload?: Record<string, unknown>;
}

/** Deliveries to webhooks start a run. */
export class WebhookTriggerDto implements WebhookTrigger {
  /**
   * What it waits for.
   * @example "webhook"
   */
  @ApiProperty({ enum: ['webhook'] })
  provider: 'webhook';

  /**
   * What happens there.
   * @example "received"
   */
  @ApiProperty({ enum: ['received'] })
  event: 'received';

  /** Which deliveries. */
  filter: WebhookTriggerFilter;

  /**
   * In answers: true where one of its webhooks was deleted, and fires no more.
   * @example true
   */
  @ApiProperty({ type: Boolean, readOnly: true, required: false })
  webhook_deleted?: true;

  /**
   * In answers: which of its webhooks were deleted; the trigger waits for the others still. Absent where none was.
   * @example ["019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"]
   */
  @ApiProperty({
    type: 'array',
    items: { type: 'string', format: 'uuid' },
    readOnly: true,
    required: false,
  })
  deleted_webhook_ids?: string[];
}

/** When a trigger fires. */
export class TriggerSchedule {
  /**
   * A cron expression, in UTC.
   * @example "0 7 * * 1-5"
   */
  cron: string;

  /**
   * What runs show of it.
   * @example "Every working day"
   */
  name?: string;
}

/** A cron expression starts a run. */
export class ScheduleTriggerDto implements ScheduleTrigger {
  /**
   * What it waits for.
   * @example "schedule"
   */
  @ApiProperty({ enum: ['schedule'] })
  provider: 'schedule';

  /**
   * What happens there.
   * @example "cron_fired"
   */
  @ApiProperty({ enum: ['cron_fired'] })
  event: 'cron_fired';

  /** When. */
  schedule: TriggerSchedule;
}

const TRIGGERS: ApiPropertyOptions = {
  type: 'array',
  maxItems: 20,
  items: {
    oneOf: [{ $ref: getSchemaPath(WebhookTriggerDto) }, { $ref: getSchemaPath(ScheduleTriggerDto) }],
  },
  example: [
    {
      provider: 'webhook',
      event: 'received',
      filter: { webhook_ids: ['019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11'], payload: { action: ['opened'] } },
    },
  ],
};

/** What an automation is to be; what is left out is as if it had never been set. */
@ApiExtraModels(WebhookTriggerDto, ScheduleTriggerDto)
export class AutomationRequest {
  /**
   * What people know it by, unique in the factory in whatever case: up to 100 characters, without `/`, `\` and control characters, no
   * space at either end, no `.` first.
   * @example "Triage of failed builds"
   */
  @IsString()
  @Matches(RESOURCE_NAME, { message: RESOURCE_NAME_RULE })
  @MaxLength(RESOURCE_NAME_LENGTH)
  name: string;

  /**
   * Whether it starts runs.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  enabled?: boolean;

  /**
   * The agent identity of the team that its runs are executed as; by default the team's default agent.
   * @example "019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e46"
   */
  @IsOptional()
  @IsUUID()
  agent_uid?: string;

  /**
   * What the agent is to do. The run learns besides which webhook and which delivery it is about; the payload is its attached file
   * `event-payload.json`.
   * @example "Find out why the build failed and propose a fix."
   */
  @IsString()
  @MaxLength(LONG_TEXT)
  prompt: string;

  /** What starts a run: any of these. */
  // As it came: what class-transformer would make of a filter is another one.
  @Transform(({ obj }: { obj: { triggers?: unknown } }) => obj.triggers)
  @ApiProperty(TRIGGERS)
  @IsOptional()
  triggers: unknown;

  /** How its runs are configured; what is left out is resolved from the agent identity and the defaults. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AgentConfigDto)
  config?: AgentConfigDto;
}

/** An automation: what starts runs of an agent for what happens elsewhere. */
export class AutomationResponse {
  /**
   * Its id.
   * @example "019c3f0e-9b1f-7d1a-8b59-7d0b7a1d4f30"
   */
  @ApiProperty({ format: 'uuid' })
  uid: string;

  /**
   * The factory that it belongs to.
   * @example "019c3f0e-2a4b-7c6d-9e8f-0a1b2c3d4e5f"
   */
  @ApiProperty({ format: 'uuid' })
  factory_uid: string;

  /**
   * What people know it by.
   * @example "Triage of failed builds"
   */
  name: string;

  /**
   * Whether it starts runs.
   * @example true
   */
  enabled: boolean;

  /**
   * The agent identity that its runs are executed as; absent = the team's default agent.
   * @example "019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e46"
   */
  @ApiProperty({ format: 'uuid', required: false })
  agent_uid?: string;

  /**
   * What the agent is to do.
   * @example "Find out why the build failed and propose a fix."
   */
  prompt: string;

  /** What starts a run. */
  @ApiProperty(TRIGGERS)
  triggers: (WebhookTriggerDto | ScheduleTriggerDto)[];

  /** How its runs are configured. */
  config?: AgentConfigDto;

  /**
   * When it was made.
   * @example "2026-01-31T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /**
   * When it was last changed.
   * @example "2026-01-31T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  updated_at: string;
}

/** All automations of a factory. */
export class ListAutomationsResponse {
  /** The automations by name. */
  automations: AutomationResponse[];
}

/** @throws Problem 400 naming the fields of the triggers that are wrong */
export function toAutomationSettings(request: AutomationRequest): AutomationSettings {
  const given = request.triggers ?? [];
  const parsed = parseTriggers(Array.isArray(given) ? given.map(withoutAnswers) : given);
  if (parsed.outcome === 'invalid') {
    throw Problem.invalid(
      parsed.errors.map(({ path, message }) => ({ field: ['triggers', ...path].join('.'), message })),
    );
  }
  return {
    name: request.name,
    enabled: request.enabled ?? true,
    agentUid: request.agent_uid ?? null,
    prompt: request.prompt,
    triggers: parsed.triggers,
    config: request.config ?? null,
  };
}

/** The trigger without what answers alone say of it, so that what was read can be sent back. */
function withoutAnswers(trigger: unknown): unknown {
  if (typeof trigger !== 'object' || trigger === null) return trigger;
  const {
    webhook_deleted: _flag,
    deleted_webhook_ids: _ids,
    ...rest
  } = trigger as Partial<WebhookTriggerDto>;
  return rest;
}

export const toAutomationResponse = (automation: AutomationView): AutomationResponse => ({
  uid: automation.uid,
  factory_uid: automation.factoryUid,
  name: automation.name,
  enabled: automation.enabled,
  agent_uid: automation.agentUid ?? undefined,
  prompt: automation.prompt,
  triggers: automation.triggers.map((trigger) => toTriggerResponse(trigger, automation.deletedWebhooks)),
  config: automation.config ?? undefined,
  created_at: automation.createdAt.toISOString(),
  updated_at: automation.updatedAt.toISOString(),
});

function toTriggerResponse(
  trigger: Trigger,
  deletedWebhooks: ReadonlySet<string>,
): WebhookTriggerDto | ScheduleTriggerDto {
  switch (trigger.provider) {
    case 'schedule': {
      const { provider, event, schedule } = trigger;
      return { provider, event, schedule };
    }
    case 'webhook': {
      const { provider, event, filter } = trigger;
      const deleted = filter.webhook_ids.filter((uid) => deletedWebhooks.has(uid));
      if (deleted.length === 0) return { provider, event, filter };
      return { provider, event, filter, webhook_deleted: true, deleted_webhook_ids: deleted };
    }
  }
}
