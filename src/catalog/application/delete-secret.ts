import { Injectable } from '@nestjs/common';
import type { Ownership } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { SecretRepository } from '../persistence/secret.repository.js';

/** Forgets a secret. */
@Injectable()
export class DeleteSecret {
  constructor(private readonly secrets: SecretRepository) {}

  /** @returns false when the owner has no such secret */
  execute(tx: Tx, owner: Ownership, name: string): Promise<boolean> {
    return this.secrets.delete(tx, owner, name);
  }
}
