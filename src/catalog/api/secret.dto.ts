import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsByteLength, IsOptional, IsString, Matches, ValidateBy } from 'class-validator';
import { ScopeResponse } from '../../identities/index.js';
import { isReservedSecretName, SECRET_NAME } from '../domain/secret-name.js';
import type { SecretView } from '../domain/secret-view.js';

const MAX_VALUE_BYTES = 64 * 1024;

const IsNotReserved = (): PropertyDecorator =>
  ValidateBy({
    name: 'isNotReserved',
    validator: {
      validate: (name: unknown) => typeof name === 'string' && !isReservedSecretName(name),
      defaultMessage: () => 'is reserved: as an environment variable it would change how programs run',
    },
  });

const IsSecretValue = (): PropertyDecorator =>
  IsByteLength(1, MAX_VALUE_BYTES, { message: `must have 1 to ${MAX_VALUE_BYTES} bytes` });

/** A new value of a secret. */
export class UpdateSecretRequest {
  /**
   * The value, of 1 byte to 64 KiB in UTF-8. No answer ever holds it.
   * @example "s3cr3t"
   */
  @IsString()
  @IsSecretValue()
  @ApiProperty({ writeOnly: true })
  value: string;

  /**
   * Whether it is the team's secret rather than the caller's own; by default it is where the caller has exactly one team.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  team?: boolean;
}

/** A secret to keep. */
export class CreateSecretRequest extends UpdateSecretRequest {
  /**
   * What runs know it by, as an environment variable: 1 to 128 of A-Z a-z 0-9 and _, a digit not first. Names that decide how
   * programs run are reserved: PATH, LD_PRELOAD, NODE_OPTIONS, GIT_…, WARP_…, OZ_… and the like.
   * @example "DEPLOY_TOKEN"
   */
  @Matches(SECRET_NAME, { message: 'must be 1 to 128 of A-Z a-z 0-9 and _, a digit not first' })
  @IsNotReserved()
  name: string;
}

/** Whose secrets are meant. */
export class SecretQuery {
  /**
   * Whether the team's are meant rather than the caller's own.
   * @example true
   */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsBoolean({ message: 'must be true or false' })
  team?: boolean;
}

/** A secret, without its value. */
export class SecretResponse {
  /**
   * What runs know it by.
   * @example "DEPLOY_TOKEN"
   */
  name: string;

  /** Whose it is. */
  scope: ScopeResponse;

  /**
   * When it was made.
   * @example "2026-01-31T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /**
   * When its value was last set.
   * @example "2026-01-31T12:00:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  updated_at: string;
}

/** All secrets that were asked for. */
export class ListSecretsResponse {
  /** The secrets by name. */
  secrets: SecretResponse[];
}

export const toSecretResponse = (secret: SecretView): SecretResponse => ({
  name: secret.name,
  scope:
    secret.team_uid === null
      ? { type: 'User', uid: secret.owner_uid ?? undefined }
      : { type: 'Team', uid: secret.team_uid },
  created_at: secret.created_at.toISOString(),
  updated_at: secret.updated_at.toISOString(),
});
