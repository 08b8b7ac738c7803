import { Injectable } from '@nestjs/common';
import type { Tx } from '../../kernel/persistence/database.js';
import { newApiKey } from '../domain/api-key.js';
import { ApiKeyRepository } from '../persistence/api-key.repository.js';
import { TeamRepository } from '../persistence/team.repository.js';

export type CreateUserOutcome =
  | { outcome: 'created'; uid: string; createdAt: Date; key: string }
  /** Another user has this e-mail address. */
  | { outcome: 'email_taken' };

const FIRST_KEY_NAME = 'first key';

/** Makes a user who belongs to no team yet, with a key that the operator hands over to them. */
@Injectable()
export class CreateUser {
  constructor(
    private readonly teams: TeamRepository,
    private readonly apiKeys: ApiKeyRepository,
  ) {}

  async execute(tx: Tx, user: { displayName: string; email?: string }): Promise<CreateUserOutcome> {
    const created = await this.teams.insertUser(tx, user);
    if (created === undefined) return { outcome: 'email_taken' };
    const key = newApiKey();
    await this.apiKeys.insertForUser(tx, key, {
      userUid: created.uid,
      name: FIRST_KEY_NAME,
      operator: false,
    });
    return { outcome: 'created', ...created, key: key.key };
  }
}
