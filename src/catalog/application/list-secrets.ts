import { Injectable } from '@nestjs/common';
import { type AccountCaller, ownedBy, ownershipFor } from '../../identities/index.js';
import type { SecretView } from '../domain/secret-view.js';
import { SecretRepository } from '../persistence/secret.repository.js';

/** Lists which secrets there are: the active team's and the caller's own. */
@Injectable()
export class ListSecrets {
  constructor(private readonly secrets: SecretRepository) {}

  /**
   * @param team true = the team's alone, false = the caller's own alone
   * @throws Problem 400 naming `team` when the team's are asked for and the caller acts for none
   */
  execute(caller: AccountCaller, team: boolean | undefined): Promise<SecretView[]> {
    return this.secrets.list(team === undefined ? ownedBy(caller) : ownershipFor(caller, team));
  }
}
