import { Injectable } from '@nestjs/common';
import type { Ownership } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { conversationIsBusy } from './conversation-is-busy.js';
import { type AgentConfig, workerHostOf } from '../domain/agent-config.js';
import { deriveTitle } from '../domain/derive-title.js';
import type { RunSource } from '../domain/run-source.js';
import type { RunState } from '../domain/run-state.js';
import { RunRepository } from '../persistence/run.repository.js';

export interface NewRun {
  prompt: string;
  /** The conversation that it continues; the creator must be allowed to. */
  conversationId?: string;
  title?: string;
  owner: Ownership;
  creatorUid: string;
  executorUid: string;
  source: RunSource;
  /** Every field resolved. */
  config: AgentConfig;
  metadata?: Record<string, string>;
}

/** Starts runs: whatever starts one, a request or another part of the system, comes through here. */
@Injectable()
export class CreateRun {
  constructor(
    private readonly runs: RunRepository,
    private readonly signals: Signals,
  ) {}

  /**
   * Queues the run; dispatchers are woken once the transaction has committed.
   *
   * @throws Problem 409 when another run that has not ended continues the conversation
   */
  async execute(tx: Tx, run: NewRun): Promise<{ runId: string; state: RunState }> {
    const runId = newUuid();
    const { config } = run;
    const inserted = await this.runs.insert(tx, [
      {
        id: runId,
        title: run.title ?? deriveTitle(run.prompt),
        prompt: run.prompt,
        agent_config: config,
        team_uid: run.owner.teamUid,
        owner_uid: run.owner.ownerUid,
        creator_uid: run.creatorUid,
        executor_uid: run.executorUid,
        source: run.source,
        worker_host: workerHostOf(config),
        config_name: config.name ?? null,
        model_id: config.model_id ?? null,
        environment_id: config.environment_id ?? null,
        skill_spec: config.skill_spec ?? null,
        metadata: run.metadata ?? {},
        conversation_id: run.conversationId ?? null,
      },
    ]);
    if (!inserted.includes(runId)) throw conversationIsBusy();
    tx.afterCommit(() => {
      this.signals.send('run_queued', null);
    });
    return { runId, state: 'QUEUED' };
  }
}
