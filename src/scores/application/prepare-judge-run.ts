import { Injectable } from '@nestjs/common';
import { AgentIdentities, type ExecutingAgent } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import { Database } from '../../kernel/persistence/database.js';
import { type AgentConfig, type NewRun, RunRepository } from '../../runs/index.js';
import type { Judge, WaitingEvaluation } from '../domain/evaluation.js';
import { judgePrompt } from '../domain/judge-prompt.js';
import { GradedRunFiles } from './graded-run-files.js';
import { Judges } from './judges.js';

export type JudgeRunPreparation =
  { outcome: 'ready'; run: NewRun } | { outcome: 'impossible'; problem: string };

/** Makes of an evaluation the run of its judge, and stores the files that it is to have. */
@Injectable()
export class PrepareJudgeRun {
  constructor(
    private readonly agents: AgentIdentities,
    private readonly runs: RunRepository,
    private readonly files: GradedRunFiles,
    private readonly judges: Judges,
    private readonly database: Database,
  ) {}

  /**
   * The team's default agent executes it, and brings the credentials for its model and the place where its team's runs are executed;
   * but neither its environment nor its tools: a judge reads what strangers may have written.
   */
  async execute(evaluation: WaitingEvaluation): Promise<JudgeRunPreparation> {
    const { id: evaluationId, teamUid, runId, judge, requestedBy } = evaluation;
    const complaint = this.judges.complaintAbout(judge);
    if (complaint !== undefined) return { outcome: 'impossible', problem: complaint };
    const agent = await this.agents.find(this.database, teamUid);
    if (!agent?.available)
      return { outcome: 'impossible', problem: 'The team has no default agent that may be used' };
    const id = newUuid();
    const parent = await this.runs.parent(this.database, runId);
    const files = await this.files.store(id, { teamUid, runId });
    if (parent === undefined || files === undefined)
      return { outcome: 'impossible', problem: 'The run is no longer there' };
    return {
      outcome: 'ready',
      run: {
        id,
        title: `Grading of run ${runId}`,
        prompt: judgePrompt(evaluation, files.transcript !== undefined),
        owner: { teamUid, ownerUid: null },
        creatorUid: requestedBy ?? parent.creatorUid,
        executorUid: agent.uid,
        source: 'RUN_SCORER',
        config: configOf(judge, agent),
        metadata: parent.metadata,
        parentRunId: runId,
        ancestorIds: [runId, ...parent.ancestorIds],
        attachments: [files.run, ...(files.transcript === undefined ? [] : [files.transcript])],
        originKey: `evaluation:${evaluationId}`,
      },
    };
  }
}

const configOf = ({ modelId, harness }: Judge, agent: ExecutingAgent): AgentConfig => ({
  name: 'judge',
  model_id: modelId,
  harness,
  harness_auth_secrets: agent.harnessAuthSecrets,
  inference_providers: agent.inferenceProviders,
  worker_host: agent.workerHost,
});
