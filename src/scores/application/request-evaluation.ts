import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { GetRun, isTerminal, RunRepository, type RunSource, type RunView } from '../../runs/index.js';
import { type GradedRun, groupByJudge, isOfJudge, type NewEvaluation } from '../domain/evaluation.js';
import { EvaluationRepository } from '../persistence/evaluation.repository.js';
import { ScorerRepository } from '../persistence/scorer.repository.js';
import { Judges } from './judges.js';

export type RequestEvaluationOutcome =
  | { outcome: 'requested'; evaluations: NewEvaluation[] }
  | { outcome: 'not_found' }
  /** A person owns it, or a judge, or whatever a judge has started, stands behind it. */
  | { outcome: 'not_gradable' }
  /** Or its execution has not: its agent may still save the transcript. */
  | { outcome: 'not_ended' }
  /** Of the named scorers these are none of the team's. */
  | { outcome: 'unknown_scorers'; ids: number[] }
  /** None was named, and none grades the agent that executed the run. */
  | { outcome: 'no_scorers' };

/** Has a run graded because somebody asks for it, however often: nothing is sampled. */
@Injectable()
export class RequestEvaluation {
  constructor(
    private readonly getRun: GetRun,
    private readonly runs: RunRepository,
    private readonly scorers: ScorerRepository,
    private readonly evaluations: EvaluationRepository,
    private readonly judges: Judges,
    private readonly database: Database,
    private readonly transactor: Transactor,
  ) {}

  /** @param scorerIds undefined: those that grade the agent which executed the run */
  async execute(
    caller: AccountCaller,
    runId: string,
    scorerIds: number[] | undefined,
  ): Promise<RequestEvaluationOutcome> {
    const view = await this.getRun.execute(caller, runId);
    if (view === undefined) return { outcome: 'not_found' };
    const run = gradableRun(view, await this.runs.lineage(this.database, runId));
    if (run === undefined) return { outcome: 'not_gradable' };
    if (!isTerminal(view.state) || (await this.runs.hasOpenExecution(this.database, runId)))
      return { outcome: 'not_ended' };
    return this.transactor.run((tx) => this.request(tx, caller, run, scorerIds));
  }

  private async request(
    tx: Tx,
    caller: AccountCaller,
    run: GradedRun,
    scorerIds: number[] | undefined,
  ): Promise<RequestEvaluationOutcome> {
    const ids =
      scorerIds ?? (await this.scorers.ofAgents(tx, [run.teamUid], [run.agentUid])).map(({ id }) => id);
    // None of them is deleted before the evaluations are recorded.
    const scorers = await this.scorers.lockNamed(tx, run.teamUid, ids);
    const unknown = (scorerIds ?? []).filter((id) => !scorers.some((scorer) => scorer.id === id));
    if (unknown.length > 0) return { outcome: 'unknown_scorers', ids: unknown };
    if (scorers.length === 0) return { outcome: 'no_scorers' };
    const evaluations = groupByJudge(scorers, (scorer) => this.judges.of(scorer)).map((group) => ({
      id: newUuid(),
      run,
      requestedBy: caller.uid,
      ...group,
    }));
    await this.evaluations.insert(tx, evaluations);
    return { outcome: 'requested', evaluations };
  }
}

const gradableRun = (run: RunView, lineage: RunSource[]): GradedRun | undefined =>
  run.team_uid === null || isOfJudge(lineage)
    ? undefined
    : {
        id: run.id,
        teamUid: run.team_uid,
        agentUid: run.executor_uid,
        modelId: run.agent_config.model_id,
        skillSpec: run.agent_config.skill_spec,
      };
