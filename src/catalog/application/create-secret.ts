import { Injectable } from '@nestjs/common';
import type { Ownership } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { SecretBox } from '../../kernel/security/secret-box.js';
import { secretContext, type SecretView } from '../domain/secret-view.js';
import { SecretRepository } from '../persistence/secret.repository.js';

export type CreateSecretOutcome =
  | { outcome: 'created'; secret: SecretView }
  | { outcome: 'name_taken' }
  /** The owner has as many as one may have. */
  | { outcome: 'limit_reached' };

/** Keeps a value under a name that is new to its owner. */
@Injectable()
export class CreateSecret {
  constructor(
    private readonly secrets: SecretRepository,
    private readonly box: SecretBox,
  ) {}

  async execute(
    tx: Tx,
    owner: Ownership,
    { name, value }: { name: string; value: string },
  ): Promise<CreateSecretOutcome> {
    const uid = newUuid();
    const sealed = this.box.seal(secretContext(uid), value);
    const result = await this.secrets.insert(tx, owner, { uid, name, ...sealed });
    return typeof result === 'string' ? { outcome: result } : { outcome: 'created', secret: result };
  }
}
