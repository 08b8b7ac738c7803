import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { ScopeResponse } from '../../identities/index.js';
import { FACTORY_MODES, type Factory, type FactoryMode } from '../domain/factory.js';
import { RESOURCE_NAME, RESOURCE_NAME_LENGTH, RESOURCE_NAME_RULE } from '../domain/resource-name.js';

/** A factory to make. */
export class CreateFactoryRequest {
  /**
   * What people know it by, unique in the team in whatever case: 1 to 100 characters, without `/`, `\` and control characters, no space
   * at either end, no `.` first.
   * @example "backend"
   */
  @IsString()
  @Matches(RESOURCE_NAME, { message: RESOURCE_NAME_RULE })
  @MaxLength(RESOURCE_NAME_LENGTH)
  name: string;

  /**
   * Who defines what belongs to it: people through this API (`managed`), or files of a repository.
   * @example "managed"
   */
  @IsOptional()
  @IsIn(FACTORY_MODES)
  @ApiProperty({ enum: FACTORY_MODES, default: 'managed' })
  mode?: FactoryMode;
}

/** What to change of a factory; what is left out stays as it is. */
export class UpdateFactoryRequest {
  /**
   * What people know it by, as when it is made. The factory `default` keeps its name, and so does one whose mode is `repository`.
   * @example "backend"
   */
  @IsOptional()
  @IsString()
  @Matches(RESOURCE_NAME, { message: RESOURCE_NAME_RULE })
  @MaxLength(RESOURCE_NAME_LENGTH)
  name?: string;

  /**
   * Who defines what belongs to it from now on.
   * @example "repository"
   */
  @IsOptional()
  @IsIn(FACTORY_MODES)
  @ApiProperty({ enum: FACTORY_MODES })
  mode?: FactoryMode;
}

/** A factory: what groups a team's webhooks and automations. */
export class FactoryResponse {
  /**
   * The factory.
   * @example "019c3f0e-0000-7000-8000-000000000001"
   */
  uid: string;

  /**
   * What people know it by. Each team has one named `default` from its start.
   * @example "default"
   */
  name: string;

  /**
   * Who defines what belongs to it: people through this API (`managed`), or files of a repository.
   * @example "managed"
   */
  @ApiProperty({ enum: FACTORY_MODES })
  mode: FactoryMode;

  /** Its team. */
  scope: ScopeResponse;

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

/** All factories of the team. */
export class ListFactoriesResponse {
  /** The factories, the oldest first. */
  factories: FactoryResponse[];
}

export const toFactoryResponse = (factory: Factory): FactoryResponse => ({
  uid: factory.uid,
  name: factory.name,
  mode: factory.mode,
  scope: { type: 'Team', uid: factory.teamUid },
  created_at: factory.createdAt.toISOString(),
  updated_at: factory.updatedAt.toISOString(),
});
