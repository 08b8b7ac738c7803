import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { hashOfLinkToken, newLinkToken } from '../domain/environment-link.js';
import type { EnvironmentShareView, Refusal } from '../domain/environment-view.js';
import { EnvironmentShareRepository, MAX_SHARES } from '../persistence/environment-share.repository.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';
import { refusal } from './environment-refusal.js';

/** Whom to share with. */
export type Grantee = { kind: 'user' | 'team'; uid: string } | { kind: 'link' };

export type ShareEnvironmentOutcome =
  /** `token` for a link alone, this once. */
  | { outcome: 'shared'; share: EnvironmentShareView; token?: string }
  | { outcome: 'no_such_grantee' }
  | { outcome: 'limit_reached'; limit: number }
  | Refusal;

/**
 * Shares an environment: with a user or a team, who are its guests from then on, or with whoever opens a link. Sharing again with the
 * same grantee changes nothing; a new link takes the place of the old one, whose guests are none any more. For the environment's owners.
 */
@Injectable()
export class ShareEnvironment {
  constructor(
    private readonly shares: EnvironmentShareRepository,
    private readonly environments: EnvironmentReadModel,
  ) {}

  async execute(
    tx: Tx,
    caller: AccountCaller,
    environmentUid: string,
    grantee: Grantee,
  ): Promise<ShareEnvironmentOutcome> {
    if (!(await this.shares.lockOwned(tx, caller, environmentUid)))
      return refusal(this.environments, tx, caller, environmentUid);
    const uid = newUuid();
    if (grantee.kind === 'link') {
      const token = newLinkToken();
      const linkHash = hashOfLinkToken(token);
      const share = await this.shares.replaceLink(tx, { uid, environmentUid, linkHash });
      return share === undefined ? LIMIT_REACHED : { outcome: 'shared', share, token };
    }
    const { kind, uid: granteeUid } = grantee;
    if (!(await this.shares.granteeExists(tx, kind, granteeUid))) return { outcome: 'no_such_grantee' };
    const share = await this.shares.insertGrant(tx, { uid, environmentUid, kind, granteeUid });
    return share === undefined ? LIMIT_REACHED : { outcome: 'shared', share };
  }
}

const LIMIT_REACHED = { outcome: 'limit_reached', limit: MAX_SHARES } as const;
