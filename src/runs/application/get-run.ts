import { Injectable } from '@nestjs/common';
import type { Caller } from '../../identities/index.js';
import type { RunView, TimelineEventView } from '../domain/run-view.js';
import { RunReadModel } from '../persistence/run.read-model.js';
import { runVisibility } from './run-visibility.js';

/** Reads one run and its timeline; undefined for a run that the caller may not know of. */
@Injectable()
export class GetRun {
  constructor(private readonly runs: RunReadModel) {}

  execute(caller: Caller, runId: string): Promise<RunView | undefined> {
    return this.runs.find(runId, runVisibility(caller));
  }

  /** For those who act for the team on their own account. */
  ofTeam(teamUid: string, runId: string): Promise<RunView | undefined> {
    return this.runs.find(runId, { teamUid, ownerUid: null, runId: null });
  }

  async timeline(caller: Caller, runId: string): Promise<TimelineEventView[] | undefined> {
    if (!(await this.runs.exists(runId, runVisibility(caller)))) return undefined;
    return this.runs.timeline(runId);
  }
}
