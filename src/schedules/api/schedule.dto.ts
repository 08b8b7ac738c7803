import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import type { EnvironmentConfig } from '../../catalog/index.js';
import { EnvironmentConfigDto } from '../../catalog/index.js';
import { type Principal, PrincipalResponse, ScopeResponse } from '../../identities/index.js';
import { AgentConfigDto, IsMetadata, RUN_MODES, type RunMode } from '../../runs/index.js';
import { DEFAULT_CATCH_UP_MINUTES, type Schedule, type ScheduleSettings } from '../domain/schedule.js';

const MAX_NAME = 256;
const MAX_PROMPT_CHARACTERS = 100_000;
const MAX_CATCH_UP_MINUTES = 7 * 24 * 60;

/** What a schedule may have besides, whether it is made or replaced. */
class ScheduleOptions {
  /**
   * The time zone in which the cron expression is meant, by its name in the IANA database. A local time that is skipped when the clock is
   * put forward fires once, at the end of the gap; one that comes twice fires the first time.
   * @example "Europe/Berlin"
   */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  @ApiProperty({ required: false, default: 'UTC' })
  timezone?: string;

  /**
   * After a downtime the latest tick that was missed is made up for when it is at most this late, in minutes; 0 = never.
   * @example 60
   */
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_CATCH_UP_MINUTES)
  @ApiProperty({ required: false, default: DEFAULT_CATCH_UP_MINUTES })
  catch_up_window_minutes?: number;

  /**
   * How the agent goes about it.
   * @example "normal"
   */
  @IsOptional()
  @IsIn(RUN_MODES)
  @ApiProperty({ enum: RUN_MODES, required: false, default: 'normal' })
  mode?: RunMode;

  /**
   * The agent identity of the team that executes the runs; left out, the team's default agent.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  @IsOptional()
  @IsUUID()
  agent_uid?: string;

  /** How the runs are configured; what it leaves open the agent identity decides. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AgentConfigDto)
  agent_config?: AgentConfigDto;

  /**
   * The metadata of the runs: at most 20 pairs.
   * @example { "ticket": "OPS-1142" }
   */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string>;
}

/** A scheduled agent to make. */
export class CreateScheduleRequest extends ScheduleOptions {
  /**
   * A name to find it by.
   * @example "Nightly review"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_NAME)
  name: string;

  /**
   * When it runs: five fields of cron, `@daily` and the like, or `@every 90m` from now on.
   * @example "0 9 * * 1-5"
   */
  @IsString()
  @IsNotEmpty()
  cron_schedule: string;

  /**
   * What the agent is to do; required unless `agent_config.skill_spec` names a skill.
   * @example "Review the open pull requests"
   */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_PROMPT_CHARACTERS)
  prompt?: string;

  /**
   * False makes it paused.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  @ApiProperty({ required: false, default: true })
  enabled?: boolean;

  /**
   * Whether the team owns the schedule and its runs rather than the caller; by default it does where the caller has exactly one team.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  team?: boolean;
}

/** A scheduled agent anew: what is left out becomes its default, but `agent_config` stays as it is. */
export class ReplaceScheduleRequest extends ScheduleOptions {
  /**
   * A name to find it by.
   * @example "Nightly review"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_NAME)
  name: string;

  /**
   * When it runs. The same expression as before goes on as it was; another one counts from now on.
   * @example "0 9 * * 1-5"
   */
  @IsString()
  @IsNotEmpty()
  cron_schedule: string;

  /**
   * What the agent is to do; empty only where `agent_config.skill_spec` names a skill.
   * @example "Review the open pull requests"
   */
  @IsString()
  @MaxLength(MAX_PROMPT_CHARACTERS)
  prompt: string;

  /**
   * Whether it runs; false pauses it.
   * @example true
   */
  @IsBoolean()
  enabled: boolean;
}

/** When a schedule ran, and when it will. */
export class ScheduleHistoryResponse {
  /**
   * When its last run was created; null before the first one.
   * @example "2026-11-21T09:00:00.412Z"
   */
  @ApiProperty({ format: 'date-time', nullable: true, required: false, type: String })
  last_ran?: string | null;

  /**
   * Its next tick; null while it is paused.
   * @example "2026-11-24T09:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time', nullable: true, required: false, type: String })
  next_run?: string | null;
}

/** A scheduled agent. */
export class ScheduleResponse {
  /**
   * The schedule.
   * @example "019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e46"
   */
  id: string;

  /**
   * Its name.
   * @example "Nightly review"
   */
  name: string;

  /**
   * When it runs.
   * @example "0 9 * * 1-5"
   */
  cron_schedule: string;

  /**
   * The time zone in which that is meant.
   * @example "UTC"
   */
  timezone: string;

  /**
   * How late the latest tick may be made up for after a downtime, in minutes.
   * @example 60
   */
  catch_up_window_minutes: number;

  /**
   * Whether it runs; false while it is paused.
   * @example true
   */
  enabled: boolean;

  /**
   * What the agent is to do.
   * @example "Review the open pull requests"
   */
  prompt: string;

  /**
   * How the agent goes about it.
   * @example "normal"
   */
  @ApiProperty({ enum: RUN_MODES })
  mode: RunMode;

  /**
   * When it was made.
   * @example "2026-11-20T16:12:09.301Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /**
   * When somebody last changed it.
   * @example "2026-11-20T16:12:09.301Z"
   */
  @ApiProperty({ format: 'date-time' })
  updated_at: string;

  /**
   * Why the last tick made no run; null when it made one.
   * @example "agent_config.environment_id: must be an environment that you can use"
   */
  @ApiProperty({ nullable: true, required: false, type: String })
  last_spawn_error?: string | null;

  /** How the runs are configured, as it was given. */
  agent_config?: AgentConfigDto;

  /**
   * The agent identity that executes the runs; absent = the team's default agent.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  agent_uid?: string;

  /**
   * The metadata of the runs.
   * @example { "ticket": "OPS-1142" }
   */
  metadata?: Record<string, string>;

  /** The environment that its configuration names, where you can read it. */
  environment?: EnvironmentConfigDto;

  /** Who made it: the creator of its runs. */
  created_by?: PrincipalResponse;

  /** Who last changed it. */
  updated_by?: PrincipalResponse;

  /** When it ran, and when it will. */
  history?: ScheduleHistoryResponse;

  /** Who owns it. */
  scope?: ScopeResponse;
}

/** Scheduled agents. */
export class ListSchedulesResponse {
  /** By name, whatever its case. */
  schedules: ScheduleResponse[];
}

/** A schedule that was deleted. */
export class DeleteScheduleResponse {
  /**
   * Always true.
   * @example true
   */
  success: boolean;
}

export const toSettings = (request: CreateScheduleRequest | ReplaceScheduleRequest): ScheduleSettings => ({
  name: request.name,
  cron: request.cron_schedule.trim().replace(/\s+/g, ' '),
  timezone: request.timezone ?? 'UTC',
  catchUpMinutes: request.catch_up_window_minutes ?? DEFAULT_CATCH_UP_MINUTES,
  enabled: request.enabled ?? true,
  prompt: request.prompt ?? '',
  mode: request.mode ?? 'normal',
  agentUid: request.agent_uid?.toLowerCase() ?? null,
  // Null is as good as left out.
  agentConfig: request.agent_config ?? undefined,
  metadata: request.metadata ?? {},
});

/**
 * @param principals names for the uids of who made and who last changed it
 * @param environment of its configuration, where the caller can read it
 */
export function toScheduleResponse(
  schedule: Schedule,
  principals: Map<string, Principal>,
  environment: EnvironmentConfig | undefined,
): ScheduleResponse {
  return {
    id: schedule.id,
    name: schedule.name,
    cron_schedule: schedule.cron,
    timezone: schedule.timezone,
    catch_up_window_minutes: schedule.catchUpMinutes,
    enabled: schedule.enabled,
    prompt: schedule.prompt,
    mode: schedule.mode,
    created_at: schedule.createdAt.toISOString(),
    updated_at: schedule.updatedAt.toISOString(),
    last_spawn_error: schedule.lastError,
    agent_config: schedule.agentConfig,
    agent_uid: schedule.agentUid ?? undefined,
    metadata: schedule.metadata,
    environment,
    created_by: principals.get(schedule.createdBy),
    updated_by: principals.get(schedule.updatedBy),
    history: {
      last_ran: schedule.lastRanAt?.toISOString() ?? null,
      next_run: schedule.nextTickAt?.toISOString() ?? null,
    },
    scope:
      schedule.teamUid === null
        ? { type: 'User', uid: schedule.ownerUid ?? undefined }
        : { type: 'Team', uid: schedule.teamUid },
  };
}
