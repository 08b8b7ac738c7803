import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import { Database } from '../../kernel/persistence/database.js';
import { Secrets } from './secrets.js';

/** Whose secrets may be used: the team's that the caller acts for, and a person's own. */
export interface CredentialOwner {
  teamUid: string | null;
  ownerUid: string | null;
}

/** Where tokens for private repositories come from. What is read with one token is never shown to who has another or none. */
export abstract class GitCredentials {
  /** @returns undefined = repositories are read anonymously */
  abstract tokenFor(owner: CredentialOwner): Promise<string | undefined>;
}

/** A token from the team's secret that the operator named, where the team has one; else public repositories alone. */
@Injectable()
export class SecretGitCredentials extends GitCredentials {
  constructor(
    private readonly secrets: Secrets,
    private readonly database: Database,
    private readonly config: AppConfig,
  ) {
    super();
  }

  async tokenFor({ teamUid }: CredentialOwner): Promise<string | undefined> {
    const name = this.config.gitTokenSecret;
    if (name === undefined || teamUid === null) return undefined;
    return (await this.secrets.values(this.database, teamUid, [name])).values[name];
  }
}
