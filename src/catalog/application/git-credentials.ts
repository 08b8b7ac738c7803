import { Injectable } from '@nestjs/common';

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

/** Public repositories alone. */
@Injectable()
export class NoGitCredentials extends GitCredentials {
  tokenFor(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}
