import { Injectable } from '@nestjs/common';
import type { Ownership } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { SecretBox } from '../../kernel/security/secret-box.js';
import { secretContext, type SecretView } from '../domain/secret-view.js';
import { SecretRepository } from '../persistence/secret.repository.js';

/** Gives a secret a new value. What has taken a copy of the old one keeps it. */
@Injectable()
export class UpdateSecret {
  constructor(
    private readonly secrets: SecretRepository,
    private readonly box: SecretBox,
  ) {}

  /** @returns undefined when the owner has no such secret */
  async execute(
    tx: Tx,
    owner: Ownership,
    { name, value }: { name: string; value: string },
  ): Promise<SecretView | undefined> {
    const uid = await this.secrets.lock(tx, owner, name);
    if (uid === undefined) return undefined;
    return this.secrets.replaceValue(tx, uid, this.box.seal(secretContext(uid), value));
  }
}
