import { Injectable, Logger } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import type { Queryable } from '../../kernel/persistence/database.js';
import { SealedValueError, SecretBox } from '../../kernel/security/secret-box.js';
import { secretContext } from '../domain/secret-view.js';
import { type SealedSecret, SecretRepository } from '../persistence/secret.repository.js';

/** A team's secrets, for what uses them. It is the one way to a value; no route leads here. */
@Injectable()
export class Secrets {
  private readonly logger = new Logger(Secrets.name);

  constructor(
    private readonly secrets: SecretRepository,
    private readonly box: SecretBox,
  ) {}

  /**
   * The values of the team's secrets by name, and the names that the team has no secret of. Keep the values out of logs, errors and
   * argument vectors.
   *
   * @throws Problem 503, not retryable, when one cannot be decrypted; why is logged
   */
  async values(
    database: Queryable,
    teamUid: string,
    names: string[],
  ): Promise<{ values: Record<string, string>; missing: string[] }> {
    if (names.length === 0) return { values: {}, missing: [] };
    const found = await this.secrets.ofTeam(database, teamUid, names);
    const values = new Map(found.map((secret) => [secret.name, this.open(teamUid, secret)]));
    return {
      values: Object.fromEntries(values),
      missing: [...new Set(names)].filter((name) => !values.has(name)),
    };
  }

  /** Whether the team has a secret of this name. */
  exists(database: Queryable, teamUid: string, name: string): Promise<boolean> {
    return this.secrets.exists(database, teamUid, name);
  }

  private open(teamUid: string, secret: SealedSecret): string {
    try {
      return this.box.open(secretContext(secret.uid), secret);
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      this.logger.error(
        { secret: secret.name, team_uid: teamUid },
        `a secret is unreadable: ${error.message}`,
      );
      throw new Problem('resource_unavailable', {
        detail: `The secret ${secret.name} cannot be decrypted: store its value again, or ask the operator of this installation`,
        retryable: false,
        cause: error,
      });
    }
  }
}
