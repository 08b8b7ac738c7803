import { ApiProperty } from '@nestjs/swagger';
import {
  IsBoolean,
  IsISO8601,
  IsOptional,
  IsRFC3339,
  IsString,
  IsUUID,
  Matches,
  MaxLength,
} from 'class-validator';
import { ForbidTogether } from '../../kernel/http/forbid-together.js';
import type { ApiKeyView } from '../domain/api-key.js';
import { PrincipalResponse } from './principal.dto.js';

/** A new API key. */
export class CreateApiKeyRequest {
  /**
   * A name to tell it from others by.
   * @example "Deploy pipeline"
   */
  @IsString()
  @Matches(/\S/, { message: 'must not be empty' })
  @MaxLength(256)
  name: string;

  /**
   * When it stops working, in the future; left out = never.
   * @example "2036-11-21T09:30:00Z"
   */
  @IsOptional()
  @IsRFC3339({ message: 'must be an RFC 3339 date and time' })
  @IsISO8601({ strict: true }, { message: 'must be a date and time that exists' })
  @ApiProperty({ format: 'date-time', required: false })
  expires_at?: string;

  /**
   * The agent identity of your team whose key it is to be; left out = yours.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  @IsOptional()
  @IsUUID()
  @ApiProperty({ format: 'uuid', required: false })
  agent_uid?: string;

  /**
   * Whether the key administers the installation and its workers serve every team; only such a key makes another.
   * @example false
   */
  @IsOptional()
  @IsBoolean()
  @ForbidTogether(['agent_uid'])
  operator?: boolean;
}

/** An API key, without the key itself. */
export class ApiKeyResponse {
  /**
   * Its id.
   * @example "019c3f0e-0000-7000-8000-000000000004"
   */
  uid: string;

  /**
   * Its name.
   * @example "Deploy pipeline"
   */
  name: string;

  /**
   * The first characters of the key.
   * @example "wk-Zm9vYmFy"
   */
  prefix: string;

  /**
   * The last four characters of the key.
   * @example "c3Vw"
   */
  last_four: string;

  /** The person or the agent identity that calls with it. */
  owner: PrincipalResponse;

  /**
   * The team of the agent identity; absent for a person's key, which works in all their teams.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  team_uid?: string;

  /**
   * True when it administers the installation; absent otherwise.
   * @example true
   */
  operator?: boolean;

  /**
   * When it was made.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;

  /**
   * When it stops working; absent = never.
   * @example "2036-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time', required: false })
  expires_at?: string;

  /**
   * When it was last used, to the minute; absent = not yet.
   * @example "2026-11-21T09:31:00.000Z"
   */
  @ApiProperty({ format: 'date-time', required: false })
  last_used_at?: string;
}

/** A new API key, with the key itself this once. */
export class CreatedApiKeyResponse extends ApiKeyResponse {
  /**
   * The key: it is kept nowhere, so it cannot be shown again.
   * @example "wk-Zm9vYmFyZXhhbXBsZWV4YW1wbGVleGFtcGxlZXhhbXBsZWV4YW1w"
   */
  key: string;
}

/** API keys. */
export class ListApiKeysResponse {
  /** Your own keys and those of your team's agent identities, the oldest first. */
  api_keys: ApiKeyResponse[];
}

export function toApiKeyResponse(apiKey: ApiKeyView): ApiKeyResponse {
  return {
    uid: apiKey.uid,
    name: apiKey.name,
    prefix: apiKey.prefix,
    last_four: apiKey.lastFour,
    owner: {
      type: apiKey.teamUid === null ? 'user' : 'service_account',
      uid: apiKey.ownerUid,
      display_name: apiKey.ownerName,
      email: apiKey.ownerEmail ?? undefined,
    },
    team_uid: apiKey.teamUid ?? undefined,
    operator: apiKey.operator || undefined,
    created_at: apiKey.createdAt.toISOString(),
    expires_at: apiKey.expiresAt?.toISOString(),
    last_used_at: apiKey.lastUsedAt?.toISOString(),
  };
}
