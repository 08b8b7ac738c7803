import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString } from 'class-validator';
import {
  type AccountCaller,
  ownedBy,
  type Principal,
  PrincipalResponse,
  ScopeResponse,
} from '../../identities/index.js';
import type { LatestRun } from '../application/environment-runs.js';
import { ENVIRONMENT_SORTS, type EnvironmentSort, type EnvironmentView } from '../domain/environment-view.js';
import { EnvironmentConfigDto } from './environment-config.dto.js';

/** Which order. */
export class ListEnvironmentsQuery {
  /**
   * By name, whatever its case, or by the last change, the most recent first.
   * @example "last_updated"
   */
  @IsOptional()
  @IsIn(ENVIRONMENT_SORTS)
  @ApiProperty({ enum: ENVIRONMENT_SORTS, required: false, default: 'last_updated' })
  sort_by: EnvironmentSort = 'last_updated';
}

/** How the environment was reached. */
export class GetEnvironmentQuery {
  /**
   * The token of the environment's link: whoever sends it is a guest of the environment for as long as the link lives.
   * @example "Zm9ydHktdHdvIGJ5dGVzIG9mIHJhbmRvbW5lc3MsIHJlYWQ"
   */
  @IsOptional()
  @IsString()
  @ApiProperty({ required: false })
  link?: string;
}

/** The latest run of an environment. */
export class LastTaskResponse {
  /**
   * The run.
   * @example "019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11"
   */
  id: string;

  /**
   * Its title.
   * @example "Where am I?"
   */
  title: string;

  /**
   * Where it stands.
   * @example "SUCCEEDED"
   */
  state: string;

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
}

/** Where runs work. */
export class EnvironmentResponse {
  /**
   * Its id, 22 letters and digits.
   * @example "7cRkJ2wq0nUeXb5TzLsV1A"
   */
  uid: string;

  /** How it is set up. */
  config: EnvironmentConfigDto;

  /**
   * When its configuration last changed.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  last_updated: string;

  /**
   * Whether the latest run failed because the environment could not be set up.
   * @example false
   */
  setup_failed: boolean;

  /**
   * When the latest run was created; null before the first one.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time', nullable: true, required: false, type: String })
  last_task_run_timestamp?: string | null;

  /** The latest run, where the caller may read it. */
  last_task_created?: LastTaskResponse;

  /** Who owns it. */
  scope?: ScopeResponse;

  /** Who made it. */
  creator?: PrincipalResponse;

  /** Who last changed it. */
  last_editor?: PrincipalResponse;
}

/** Environments. */
export class ListEnvironmentsResponse {
  /** All that the caller may use. */
  environments: EnvironmentResponse[];
}

/**
 * @param caller who reads it: of a run that is not theirs they learn when it was, and whether the environment could be set up, no more
 * @param principals names for the uids of creator and last editor
 */
export function toEnvironmentResponse(
  environment: EnvironmentView,
  caller: AccountCaller,
  principals: Map<string, Principal>,
  latestRun: LatestRun | undefined,
): EnvironmentResponse {
  return {
    uid: environment.uid,
    config: environment.config,
    last_updated: environment.last_updated.toISOString(),
    setup_failed: latestRun?.setupFailed ?? false,
    last_task_run_timestamp: latestRun?.createdAt.toISOString() ?? null,
    last_task_created: latestRun && mayRead(caller, latestRun) ? toLastTask(latestRun) : undefined,
    scope:
      environment.team_uid === null
        ? { type: 'User', uid: environment.owner_uid ?? undefined }
        : { type: 'Team', uid: environment.team_uid },
    creator: principals.get(environment.creator_uid),
    last_editor: principals.get(environment.last_editor_uid),
  };
}

function mayRead(caller: AccountCaller, run: LatestRun): boolean {
  const { teamUid, ownerUid } = ownedBy(caller);
  return run.teamUid === null ? run.ownerUid === ownerUid : run.teamUid === teamUid;
}

const toLastTask = (run: LatestRun): LastTaskResponse => ({
  id: run.id,
  title: run.title,
  state: run.state,
  created_at: run.createdAt.toISOString(),
  updated_at: run.updatedAt.toISOString(),
  started_at: run.startedAt?.toISOString() ?? null,
});
