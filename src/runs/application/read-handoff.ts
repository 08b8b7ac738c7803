import { Injectable } from '@nestjs/common';
import { type SnapshotFile, Snapshots } from '../../artifacts/index.js';
import type { Caller } from '../../identities/index.js';
import { RunReadModel } from '../persistence/run.read-model.js';
import { runVisibility } from './run-visibility.js';

/** Reads what a run hands over to whoever continues its work: the snapshot of its latest execution that has ended. */
@Injectable()
export class ReadHandoff {
  constructor(
    private readonly runs: RunReadModel,
    private readonly snapshots: Snapshots,
  ) {}

  /** Undefined for a run that the caller may not know of. */
  async execute(caller: Caller, runId: string): Promise<SnapshotFile[] | undefined> {
    if (!(await this.runs.exists(runId, runVisibility(caller)))) return undefined;
    const executionId = await this.runs.latestEndedExecution(runId);
    return executionId === undefined ? [] : this.snapshots.of(runId, executionId);
  }
}
