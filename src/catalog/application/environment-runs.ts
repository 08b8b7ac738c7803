/** The latest run of an environment, by creation. */
export interface LatestRun {
  id: string;
  title: string;
  state: string;
  createdAt: Date;
  updatedAt: Date;
  /** Null before its first execution. */
  startedAt: Date | null;
  /** It ended because the environment could not be set up. */
  setupFailed: boolean;
  /** Who owns the run: not always who owns the environment, since guests use it too. */
  teamUid: string | null;
  ownerUid: string | null;
}

/** What the catalogue shows of runs. A port of the catalogue, which runs implements: runs imports the catalogue, never the reverse. */
export abstract class EnvironmentRuns {
  /** One query for all of them; environments without a run are absent from the answer. */
  abstract latest(environmentUids: string[]): Promise<Map<string, LatestRun>>;
}
