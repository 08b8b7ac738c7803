import { Injectable } from '@nestjs/common';
import type { Ownership } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { type AgentConfig, resolveAgentConfig, workerHostOf } from '../domain/agent-config.js';
import { deriveTitle } from '../domain/derive-title.js';
import type { RunSource } from '../domain/run-source.js';
import type { RunState } from '../domain/run-state.js';
import { RunRepository } from '../persistence/run.repository.js';

export interface NewRun {
  prompt: string;
  title?: string;
  owner: Ownership;
  creatorUid: string;
  executorUid: string;
  source: RunSource;
  config?: AgentConfig;
  metadata?: Record<string, string>;
}

/** Starts runs: whatever starts one, a request or another part of the system, comes through here. */
@Injectable()
export class CreateRun {
  constructor(
    private readonly runs: RunRepository,
    private readonly signals: Signals,
  ) {}

  /** Queues the run with its configuration resolved; dispatchers are woken once the transaction has committed. */
  async execute(tx: Tx, run: NewRun): Promise<{ runId: string; state: RunState }> {
    const agentConfig = resolveAgentConfig([run.config]);
    const runId = newUuid();
    await this.runs.insert(tx, {
      id: runId,
      title: run.title ?? deriveTitle(run.prompt),
      prompt: run.prompt,
      agentConfig,
      ...run.owner,
      creatorUid: run.creatorUid,
      executorUid: run.executorUid,
      source: run.source,
      workerHost: workerHostOf(agentConfig),
      metadata: run.metadata ?? {},
    });
    tx.afterCommit(() => {
      this.signals.send('run_queued', null);
    });
    return { runId, state: 'QUEUED' };
  }
}
