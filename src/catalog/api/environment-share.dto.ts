import { ApiProperty } from '@nestjs/swagger';
import { IsIn, ValidateBy, ValidateIf } from 'class-validator';
import { isUuid } from '../../kernel/ids.js';
import type { ShareEnvironmentOutcome } from '../application/share-environment.js';
import { type EnvironmentShareView, SHARE_KINDS, type ShareKind } from '../domain/environment-view.js';

/** Whom to share with. */
export class ShareEnvironmentRequest {
  /**
   * A user, a team, or whoever opens a link.
   * @example "team"
   */
  @IsIn(SHARE_KINDS)
  @ApiProperty({ enum: SHARE_KINDS })
  kind: ShareKind;

  /**
   * The user or the team; left out for a link.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  @ValidateIf(
    ({ kind, uid }: ShareEnvironmentRequest) => kind === 'user' || kind === 'team' || uid !== undefined,
  )
  @ValidateBy({
    name: 'isGrantee',
    validator: {
      validate: (uid, args) => !isLink(args?.object) && isUuid(uid),
      defaultMessage: (args) =>
        isLink(args?.object) ? 'cannot be given for a link' : 'must be the UUID of a user or of a team',
    },
  })
  @ApiProperty({ type: String, format: 'uuid', required: false })
  uid?: string;
}

const isLink = (share: object | undefined): boolean =>
  share !== undefined && 'kind' in share && share.kind === 'link';

/** Access of guests to an environment. */
export class EnvironmentShareResponse {
  /**
   * The share.
   * @example "019c3f0e-0000-7000-8000-000000000003"
   */
  uid: string;

  /**
   * Whom it is for.
   * @example "team"
   */
  @ApiProperty({ enum: SHARE_KINDS })
  kind: ShareKind;

  /**
   * The user or the team; absent for a link.
   * @example "019c3f0e-0000-7000-8000-000000000002"
   */
  grantee_uid?: string;

  /**
   * When it was made.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

/** A share that was made, with what is shown this once. */
export class NewEnvironmentShareResponse extends EnvironmentShareResponse {
  /**
   * The token of a link. It is kept nowhere: a lost one is replaced by a new link.
   * @example "Zm9ydHktdHdvIGJ5dGVzIG9mIHJhbmRvbW5lc3MsIHJlYWQ"
   */
  token?: string;

  /**
   * The address that makes whoever requests it, with an API key of theirs, a guest.
   * @example "https://millwright.example.com/v1/agent/environments/7cRkJ2wq0nUeXb5TzLsV1A?link=Zm9ydHktdHdvIGJ5dGVzIG9mIHJhbmRvbW5lc3MsIHJlYWQ"
   */
  link?: string;
}

/** Whom an environment is shared with. */
export class ListEnvironmentSharesResponse {
  /** In the order in which they were made. */
  shares: EnvironmentShareResponse[];
}

export const toShareResponse = (share: EnvironmentShareView): EnvironmentShareResponse => ({
  uid: share.uid,
  kind: share.kind,
  grantee_uid: share.grantee_uid ?? undefined,
  created_at: share.created_at.toISOString(),
});

/** @param environmentUrl absolute, without a query */
export const toNewShareResponse = (
  { share, token }: Extract<ShareEnvironmentOutcome, { outcome: 'shared' }>,
  environmentUrl: string,
): NewEnvironmentShareResponse =>
  Object.assign(toShareResponse(share), {
    token,
    link: token === undefined ? undefined : `${environmentUrl}?link=${token}`,
  });
