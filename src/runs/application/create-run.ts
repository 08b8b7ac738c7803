import { Injectable } from '@nestjs/common';
import type { Ownership } from '../../identities/index.js';
import { AppConfig } from '../../config/app-config.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Signals } from '../../kernel/persistence/signals.js';
import { type AgentConfig, workerHostOf } from '../domain/agent-config.js';
import type { AgentSkill } from '../domain/agent-skill.js';
import { deriveTitle } from '../domain/derive-title.js';
import type { RunMode } from '../domain/run-mode.js';
import { isSelfExecuted, type RunSource } from '../domain/run-source.js';
import type { RunState } from '../domain/run-state.js';
import { AttachmentRepository, type StoredAttachment } from '../persistence/attachment.repository.js';
import { RunRepository } from '../persistence/run.repository.js';
import { RunLifecycle } from './run-lifecycle.js';

export interface NewRun {
  /** Chosen beforehand where objects are stored under it. */
  id?: string;
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
  /** What the configuration's skill turned out to be. */
  skill?: AgentSkill;
  /** The effective one: what was inherited is in it. */
  metadata?: Record<string, string>;
  mode?: RunMode;
  interactive?: boolean;
  /** The schedule that starts it, as it is now. */
  schedule?: { id: string; name: string; cron: string };
  parentRunId?: string;
  /** The parent, its parent and so on. */
  ancestorIds?: string[];
  /** Their bytes have been stored. */
  attachments?: StoredAttachment[];
  /** What it is created for, such as `delivery:{uid}:{automation}`: of all runs with one key the first alone is created. */
  originKey?: string;
}

export type CreateRunOutcome =
  | {
      outcome: 'created';
      runId: string;
      state: RunState;
      /** The team has as many runs under way as it may. */
      atCapacity: boolean;
      /** The key to report with, of a run that its creator executes; it is never shown again. */
      runKey?: string;
    }
  /** There is a run with that origin key. */
  | { outcome: 'existing'; runId: string; state: RunState }
  /** Another run that has not ended continues its conversation. */
  | { outcome: 'conversation_busy' };

/** Starts runs: whatever starts one, a request or another part of the system, comes through here. */
@Injectable()
export class CreateRun {
  constructor(
    private readonly runs: RunRepository,
    private readonly attachments: AttachmentRepository,
    private readonly lifecycle: RunLifecycle,
    private readonly signals: Signals,
    private readonly config: AppConfig,
  ) {}

  /** Queues the run; dispatchers are woken once the transaction has committed. */
  async execute(tx: Tx, run: NewRun): Promise<CreateRunOutcome> {
    const [outcome] = await this.executeAll(tx, [run]);
    if (outcome === undefined) throw new Error('one run has one outcome');
    return outcome;
  }

  /**
   * Queues them all in one statement.
   *
   * @returns in the order of the runs; of several with one origin key one is created
   */
  async executeAll(tx: Tx, given: NewRun[]): Promise<CreateRunOutcome[]> {
    const runs = given.map((run) => ({ ...run, id: run.id ?? newUuid() }));
    const created = await this.runs.insert(tx, runs.map(toRow));
    const skipped = runs.flatMap(({ id, originKey }) =>
      created.has(id) || originKey === undefined ? [] : [originKey],
    );
    const existing =
      skipped.length === 0
        ? new Map<string, { runId: string; state: RunState }>()
        : await this.runs.findByOrigin(tx, skipped);
    const fresh = runs.filter(({ id }) => created.has(id));
    const attachments = fresh.flatMap((run) =>
      (run.attachments ?? []).map((attachment) => ({ ...attachment, runId: run.id })),
    );
    if (attachments.length > 0) await this.attachments.insert(tx, attachments);
    const selfExecuted = fresh.filter(({ source }) => isSelfExecuted(source)).map(({ id }) => id);
    const keys =
      selfExecuted.length === 0
        ? new Map<string, string>()
        : await this.lifecycle.openSelfExecuted(tx, selfExecuted);
    const fullTeams = await this.fullTeams(tx, fresh);
    if (fresh.length > selfExecuted.length) {
      tx.afterCommit(() => {
        this.signals.send('run_queued', null);
      });
    }
    return runs.map((run) => {
      if (created.has(run.id)) {
        return {
          outcome: 'created',
          runId: run.id,
          state: 'QUEUED',
          atCapacity: run.owner.teamUid !== null && fullTeams.has(run.owner.teamUid),
          runKey: keys.get(run.id),
        };
      }
      const first = existing.get(run.originKey ?? '');
      return first === undefined ? { outcome: 'conversation_busy' } : { outcome: 'existing', ...first };
    });
  }

  private async fullTeams(tx: Tx, runs: NewRun[]): Promise<Set<string>> {
    const limit = this.config.teamMaxConcurrentRuns;
    const full = new Set<string>();
    if (limit === 0) return full;
    for (const teamUid of new Set(runs.map(({ owner }) => owner.teamUid))) {
      if (teamUid !== null && (await this.runs.countUnderWay(tx, teamUid)) >= limit) full.add(teamUid);
    }
    return full;
  }
}

const toRow = (run: NewRun & { id: string }): Parameters<RunRepository['insert']>[1][number] => ({
  id: run.id,
  title: run.title ?? deriveTitle(run.prompt),
  prompt: run.prompt,
  agent_config: run.config,
  agent_skill: run.skill ?? null,
  team_uid: run.owner.teamUid,
  owner_uid: run.owner.ownerUid,
  creator_uid: run.creatorUid,
  executor_uid: run.executorUid,
  source: run.source,
  worker_host: workerHostOf(run.config),
  config_name: run.config.name ?? null,
  model_id: run.config.model_id ?? null,
  environment_id: run.config.environment_id ?? null,
  skill_spec: run.config.skill_spec ?? null,
  metadata: run.metadata ?? {},
  conversation_id: run.conversationId ?? null,
  mode: run.mode ?? 'normal',
  interactive: run.interactive ?? false,
  schedule_id: run.schedule?.id ?? null,
  schedule_name: run.schedule?.name ?? null,
  cron_schedule: run.schedule?.cron ?? null,
  parent_run_id: run.parentRunId ?? null,
  ancestor_ids: run.ancestorIds ?? [],
  origin_key: run.originKey ?? null,
  self_executed: isSelfExecuted(run.source),
});
