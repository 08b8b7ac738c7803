import { ApiProperty } from '@nestjs/swagger';
import { ArtifactItemResponse, toArtifactItem } from '../../artifacts/index.js';
import { ScopeResponse, PrincipalResponse } from '../../identities/index.js';
import type { RunSurroundings } from '../application/describe-runs.js';
import type { AgentSkill } from '../domain/agent-skill.js';
import { RUN_MODES, type RunMode } from '../domain/run-mode.js';
import { isCancellableType, RUN_SOURCES, type RunSource } from '../domain/run-source.js';
import { RUN_STATE_MACHINE, type RunState } from '../domain/run-state.js';
import { RUN_ERROR_CODES, type RunErrorCode, type StatusMessage } from '../domain/status-message.js';
import type { RunView } from '../domain/run-view.js';
import { AgentConfigDto } from './agent-config.dto.js';

/** Why a run waits, or why it ended as it did. */
export class StatusMessageResponse implements StatusMessage {
  /**
   * In words.
   * @example "Command 2 of 3 exited with code 1"
   */
  message: string;

  /**
   * What kind of failure it was.
   * @example "integration_not_configured"
   */
  @ApiProperty({ enum: RUN_ERROR_CODES, required: false })
  error_code?: RunErrorCode;

  /**
   * Whether the same run, started again, can succeed.
   * @example false
   */
  retryable?: boolean;

  /**
   * Until when a follow-up reaches the session of the failed set-up; absent when there is no such session.
   * @example "2026-11-21T09:45:04.120Z"
   */
  @ApiProperty({ format: 'date-time', required: false })
  session_debug_until?: string;

  /**
   * Whether an agent works in that session.
   * @example false
   */
  debug_agent_active?: boolean;
}

/** The schedule that started a run, as it was then. */
export class RunScheduleResponse {
  /**
   * The schedule, which may have been deleted since.
   * @example "019c3f0e-1c6e-7b0d-8d3c-5f0c3a8d2e46"
   */
  schedule_id: string;

  /**
   * Its name.
   * @example "Nightly review"
   */
  schedule_name: string;

  /**
   * Its cron expression.
   * @example "0 9 * * 1-5"
   */
  cron_schedule: string;
}

/** The skill that a run was created from. */
export class AgentSkillResponse {
  /**
   * Its name.
   * @example "release"
   */
  name?: string;

  /**
   * When to use it.
   * @example "Prepares and publishes a release."
   */
  description?: string;

  /**
   * Its file, from the root of its repository.
   * @example "skills/release/SKILL.md"
   */
  full_path?: string;
}

/** What a run has used. */
export class UsageResponse {
  /**
   * Tokens of models, of every kind: input, cached input, output.
   * @example 48211
   */
  total_tokens?: number;

  /**
   * What the models cost in US dollars, where the agent tells it.
   * @example 0.4311
   */
  inference_cost_usd?: number;
}

/** A run: what was asked for, where it stands and what came of it. */
export class RunResponse {
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
   * Its title.
   * @example "Where am I?"
   */
  title: string;

  /**
   * Where it stands. SUCCEEDED, FAILED, BLOCKED, ERROR and CANCELLED are ends; a BLOCKED run waits for a person.
   * @example "SUCCEEDED"
   */
  @ApiProperty({ enum: RUN_STATE_MACHINE.states })
  state: RunState;

  /**
   * The whole prompt.
   * @example "Say where you are:\n```bash\nhostname\n```"
   */
  prompt: string;

  /**
   * When it was created.
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

  /**
   * When its first execution started; null before that.
   * @example "2026-11-21T09:30:01.502Z"
   */
  @ApiProperty({ format: 'date-time', nullable: true, required: false, type: String })
  started_at?: string | null;

  /**
   * How long its executions have run, an ISO 8601 duration.
   * @example "PT2.618S"
   */
  run_time?: string;

  /**
   * Where it executes.
   * @example "REMOTE"
   */
  @ApiProperty({ enum: ['LOCAL', 'REMOTE'], required: false })
  execution_location?: 'LOCAL' | 'REMOTE';

  /** Why it waits, or why it ended as it did. */
  status_message?: StatusMessageResponse;

  /**
   * What started it.
   * @example "API"
   */
  @ApiProperty({ enum: RUN_SOURCES, required: false })
  source?: RunSource;

  /** The schedule that started it, as it was then. */
  schedule?: RunScheduleResponse;

  /**
   * A page on which a person can follow it; it asks for an API key.
   * @example "https://mill.example/runs/019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  session_link?: string;

  /** What it has used of models; absent where its agent has told nothing. */
  request_usage?: UsageResponse;

  /** Who started it. */
  creator?: PrincipalResponse;

  /** Who it is executed as. */
  executor?: PrincipalResponse;

  /** The configuration that it runs with, every field resolved. */
  agent_config?: AgentConfigDto;

  /**
   * The conversation of its agent; absent before the agent has one.
   * @example "019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7"
   */
  conversation_id?: string;

  /**
   * The run that it is part of.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c10"
   */
  parent_run_id?: string;

  /**
   * How its agent goes about it.
   * @example "normal"
   */
  @ApiProperty({ enum: RUN_MODES, required: false })
  mode?: RunMode;

  /**
   * Whether a person follows it and will answer.
   * @example false
   */
  interactive?: boolean;

  /**
   * Its pairs: those that it was created with over those that its parent handed down.
   * @example { "ticket": "OPS-1142" }
   */
  metadata?: Record<string, string>;

  /**
   * Whether a worker still holds an execution of it; stays true for a moment after a cancel.
   * @example false
   */
  is_sandbox_running?: boolean;

  /**
   * Whether runs of this type can be cancelled.
   * @example true
   */
  is_run_type_cancellable?: boolean;

  /**
   * Of a run whose set-up failed: whether a follow-up reaches the session that was kept for debugging.
   * @example false
   */
  debug_agent_available?: boolean;

  /**
   * How far its agent has read the events that it follows.
   * @example 1742
   */
  @ApiProperty({ type: 'integer', format: 'int64', required: false })
  last_event_sequence?: number;

  /**
   * The runs that it is the parent of, the earliest first, at most 500; not in lists, which `ancestor_run_id` filters instead.
   * @example ["019c3f0e-9c44-7b02-8d11-6c8d0c2f5a77"]
   */
  children?: string[];

  /** Who owns it. */
  scope?: ScopeResponse;

  /** What its agent has reported to have made, the earliest first. */
  artifacts?: ArtifactItemResponse[];

  /** The skill that it was created from, as it was then. */
  agent_skill?: AgentSkillResponse;
}

export function toRunResponse(run: RunView, surroundings: RunSurroundings): RunResponse {
  return {
    run_id: run.id,
    task_id: run.id,
    title: run.title,
    state: run.state,
    prompt: run.prompt,
    created_at: run.created_at.toISOString(),
    updated_at: run.updated_at.toISOString(),
    started_at: run.started_at?.toISOString() ?? null,
    run_time: run.run_seconds === null ? undefined : isoDuration(run.run_seconds),
    execution_location: run.source === 'LOCAL' ? 'LOCAL' : 'REMOTE',
    status_message: toStatusMessage(run),
    source: run.source,
    schedule: scheduleOf(run),
    session_link: surroundings.sessionLink,
    creator: surroundings.creator,
    executor: surroundings.executor,
    agent_config: run.agent_config,
    request_usage: toUsageResponse(run),
    conversation_id: run.conversation_id ?? undefined,
    parent_run_id: run.parent_run_id ?? undefined,
    mode: run.mode,
    interactive: run.interactive,
    metadata: run.metadata,
    is_sandbox_running: run.sandbox_running,
    is_run_type_cancellable: isCancellableType(run.source, run.worker_host),
    debug_agent_available:
      run.status_message?.error_code === 'environment_setup_failed' ? run.debug_until !== null : undefined,
    last_event_sequence: run.last_event_sequence === null ? undefined : Number(run.last_event_sequence),
    children: run.children,
    scope:
      run.team_uid === null
        ? { type: 'User', uid: run.owner_uid ?? undefined }
        : { type: 'Team', uid: run.team_uid },
    artifacts: surroundings.artifacts.map(toArtifactItem),
    agent_skill: run.agent_skill === null ? undefined : toAgentSkillResponse(run.agent_skill),
  };
}

function toStatusMessage(run: RunView): StatusMessageResponse | undefined {
  if (run.status_message === null || run.debug_until === null) return run.status_message ?? undefined;
  return {
    ...run.status_message,
    session_debug_until: run.debug_until.toISOString(),
    debug_agent_active: run.debug_agent_active,
  };
}
const toAgentSkillResponse = ({ name, description, full_path }: AgentSkill): AgentSkillResponse => ({
  name,
  description,
  full_path,
});

const scheduleOf = ({
  schedule_id,
  schedule_name,
  cron_schedule,
}: RunView): RunScheduleResponse | undefined =>
  schedule_id === null || schedule_name === null || cron_schedule === null
    ? undefined
    : { schedule_id, schedule_name, cron_schedule };

function toUsageResponse({ total_tokens, inference_cost_usd }: RunView): UsageResponse | undefined {
  if (total_tokens === null && inference_cost_usd === null) return undefined;
  return { total_tokens: total_tokens ?? undefined, inference_cost_usd: inference_cost_usd ?? undefined };
}

/** ISO 8601-1, 5.5.2.2, with seconds to the millisecond. */
export function isoDuration(totalSeconds: number): string {
  const milliseconds = Math.max(0, Math.round(totalSeconds * 1000));
  const hours = Math.floor(milliseconds / 3_600_000);
  const minutes = Math.floor((milliseconds % 3_600_000) / 60_000);
  const seconds = (milliseconds % 60_000) / 1000;
  const parts = [hours > 0 ? `${String(hours)}H` : '', minutes > 0 ? `${String(minutes)}M` : ''].join('');
  return `PT${parts}${seconds > 0 || parts === '' ? `${String(seconds)}S` : ''}`;
}
