import { Injectable } from '@nestjs/common';
import { type ArtifactView, RunArtifacts } from '../../artifacts/index.js';
import { AppConfig } from '../../config/app-config.js';
import { type Principal, PrincipalDirectory } from '../../identities/index.js';
import type { RunView } from '../domain/run-view.js';

/** What is shown with a run and lies elsewhere. */
export interface RunSurroundings {
  creator: Principal | undefined;
  executor: Principal | undefined;
  artifacts: ArtifactView[];
  /** Where a person follows the run. */
  sessionLink: string;
}

/** Finds what is shown with runs: one query of each kind, however many they are. */
@Injectable()
export class DescribeRuns {
  constructor(
    private readonly principals: PrincipalDirectory,
    private readonly artifacts: RunArtifacts,
    private readonly config: AppConfig,
  ) {}

  /** In the order of the runs. */
  async execute(runs: RunView[]): Promise<{ run: RunView; surroundings: RunSurroundings }[]> {
    const [principals, artifacts] = await Promise.all([
      this.principals.find(runs.flatMap((run) => [run.creator_uid, run.executor_uid])),
      this.artifacts.of(runs.map((run) => run.id)),
    ]);
    return runs.map((run) => ({
      run,
      surroundings: {
        creator: principals.get(run.creator_uid),
        executor: principals.get(run.executor_uid),
        artifacts: artifacts.get(run.id) ?? [],
        sessionLink: `${this.config.publicUrl}/runs/${run.id}`,
      },
    }));
  }
}
