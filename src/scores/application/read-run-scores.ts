import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import { GetRun, isTerminal, RunRepository } from '../../runs/index.js';
import type { RunScore, ScoreStatus } from '../domain/score-view.js';
import { ScoreReadModel, type ScoreRow } from '../persistence/score.read-model.js';

/** Reads what the judges made of a run, and what they have yet to say. */
@Injectable()
export class ReadRunScores {
  constructor(
    private readonly getRun: GetRun,
    private readonly scores: ScoreReadModel,
    private readonly runs: RunRepository,
    private readonly database: Database,
  ) {}

  /** The latest evaluations first. @returns undefined for a run that the caller may not know of */
  async execute(caller: AccountCaller, runId: string): Promise<RunScore[] | undefined> {
    if ((await this.getRun.execute(caller, runId)) === undefined) return undefined;
    const rows = await this.scores.ofRun(runId);
    const judges = rows.flatMap(({ judge_run_id: id }) => id ?? []);
    const states = await this.runs.states(this.database, [...new Set(judges)]);
    return rows.map((row) => {
      const state = row.judge_run_id === null ? undefined : states.get(row.judge_run_id);
      return { ...row, status: statusOf(row, state !== undefined && isTerminal(state)) };
    });
  }
}

function statusOf(row: ScoreRow, judgeHasEnded: boolean): ScoreStatus {
  if (row.reported_at !== null) return row.failed ? 'failed' : 'scored';
  if (row.problem !== null) return 'not_dispatched';
  return judgeHasEnded ? 'not_reported' : 'pending';
}
