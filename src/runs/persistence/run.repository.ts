import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { AgentConfig } from '../domain/agent-config.js';
import type { AgentSkill } from '../domain/agent-skill.js';
import type { RunMode } from '../domain/run-mode.js';
import type { RunSource } from '../domain/run-source.js';
import type { RunState } from '../domain/run-state.js';
import { UNDER_WAY } from './run-queue.js';
import type { ExecutionRef } from './run-transitions.js';
import { INSERT_SEARCH_CTES, SEARCH_INPUT_COLUMNS, searchInput } from './run-search.js';

/** The columns of a new run, by their names in the tables. */
export interface RunToInsert {
  id: string;
  title: string;
  prompt: string;
  agent_config: AgentConfig;
  agent_skill: AgentSkill | null;
  team_uid: string | null;
  owner_uid: string | null;
  creator_uid: string;
  executor_uid: string;
  source: RunSource;
  worker_host: string | null;
  config_name: string | null;
  model_id: string | null;
  environment_id: string | null;
  skill_spec: string | null;
  metadata: Record<string, string>;
  conversation_id: string | null;
  mode: RunMode;
  interactive: boolean;
  schedule_id: string | null;
  /** Name and expression of the schedule as they are now. */
  schedule_name: string | null;
  cron_schedule: string | null;
  parent_run_id: string | null;
  ancestor_ids: string[];
  origin_key: string | null;
  /** Its creator executes it: no worker is ever given it. */
  self_executed: boolean;
}

export interface ExecutionFacts {
  prompt: string;
  agentConfig: AgentConfig;
  conversationId: string | undefined;
  /** Undefined for a run that a person owns. */
  teamUid: string | undefined;
  /** A person or an agent identity. */
  executorUid: string;
}

/** The facts of a run that its children inherit. */
export interface ParentRun {
  id: string;
  teamUid: string | null;
  ownerUid: string | null;
  creatorUid: string;
  executorUid: string;
  ancestorIds: string[];
  metadata: Record<string, string>;
}

/** What started a run `r`, and what started each of its ancestors. */
export const LINEAGE = `ARRAY[r.source] || ARRAY(SELECT a.source FROM runs a WHERE a.id = ANY (r.ancestor_ids))`;

/** Writes of runs other than their transitions, and the few facts of one run that use cases need. */
@Injectable()
export class RunRepository {
  /**
   * Queues runs, each with the first event of its timeline: one statement, however many they are. A run whose origin key is taken,
   * or whose conversation another live run continues, is skipped; where another transaction is about to take it, this waits for how
   * that ends.
   *
   * @returns the ids of those that were created
   */
  async insert(tx: Tx, runs: RunToInsert[]): Promise<Set<string>> {
    const created = await tx.queryPrepared<{ run_id: string; xid: string }>(
      `WITH given AS (
         SELECT * FROM jsonb_to_recordset($1::jsonb) AS i (
           id uuid, title text, prompt text, agent_config jsonb, agent_skill jsonb, team_uid uuid, owner_uid uuid, creator_uid uuid,
           executor_uid uuid, source text, worker_host text, config_name text, model_id text, environment_id text,
           skill_spec text, metadata jsonb, mode text, interactive boolean, schedule_id uuid, parent_run_id uuid,
           ancestor_ids uuid[], origin_key text, conversation_id uuid, self_executed boolean,
           schedule_name text, cron_schedule text, ${SEARCH_INPUT_COLUMNS})
       ), run AS (
         INSERT INTO runs (id, title, state, team_uid, owner_uid, creator_uid, executor_uid, source, worker_host,
                           config_name, model_id, environment_id, skill_spec, metadata, mode, interactive, schedule_id,
                           parent_run_id, ancestor_ids, origin_key, conversation_id, available_at)
         SELECT id, title, 'QUEUED', team_uid, owner_uid, creator_uid, executor_uid, source, worker_host,
                config_name, model_id, environment_id, skill_spec, metadata, mode, interactive, schedule_id,
                parent_run_id, ancestor_ids, origin_key, conversation_id,
                CASE WHEN self_executed THEN 'infinity' ELSE now() END
           FROM given ORDER BY origin_key, id
         ON CONFLICT DO NOTHING
         RETURNING id
       ), input AS (
         SELECT g.* FROM given g JOIN run USING (id)
       ), definition AS (
         INSERT INTO run_definitions (run_id, prompt, agent_config, agent_skill, schedule_name, cron_schedule)
         SELECT id, prompt, agent_config, agent_skill, schedule_name, cron_schedule FROM input
       ), ${INSERT_SEARCH_CTES}
       INSERT INTO run_timeline_events (event_uuid, run_id, event_type, payload)
       SELECT gen_random_uuid(), id, 'oz_run_created', jsonb_build_object('source', source) FROM input
       RETURNING run_id, pg_current_xact_id()::text AS xid`,
      [JSON.stringify(runs.map((run) => ({ ...run, ...searchInput(run) })))],
    );
    if (created[0] !== undefined) tx.noteId(created[0].xid);
    return new Set(created.map((row) => row.run_id));
  }

  /** The runs with these origin keys. Right after {@link insert} has skipped some it sees what it waited for. */
  async findByOrigin(
    database: Queryable,
    originKeys: string[],
  ): Promise<Map<string, { runId: string; state: RunState }>> {
    const rows = await database.query<{ origin_key: string; id: string; state: RunState }>(
      'SELECT origin_key, id, state FROM runs WHERE origin_key = ANY ($1)',
      [originKeys],
    );
    return new Map(rows.map((row) => [row.origin_key, { runId: row.id, state: row.state }]));
  }

  /** What a run hands down to those that it, or somebody in its name, starts. Nothing of it ever changes. */
  async parent(database: Queryable, runId: string): Promise<ParentRun | undefined> {
    const rows = await database.query<ParentRun>(
      `SELECT id, team_uid AS "teamUid", owner_uid AS "ownerUid", creator_uid AS "creatorUid", executor_uid AS "executorUid",
              ancestor_ids AS "ancestorIds", metadata
         FROM runs WHERE id = $1`,
      [runId],
    );
    return rows[0];
  }

  /** Of the runs that there are. */
  async states(database: Queryable, runIds: string[]): Promise<Map<string, RunState>> {
    const rows = await database.query<{ id: string; state: RunState }>(
      'SELECT id, state FROM runs WHERE id = ANY ($1::uuid[])',
      [runIds],
    );
    return new Map(rows.map((row) => [row.id, row.state]));
  }

  /** What started the run, and what started each of its ancestors. Nothing of it ever changes. */
  async lineage(database: Queryable, runId: string): Promise<RunSource[]> {
    const rows = await database.query<{ lineage: RunSource[] }>(
      `SELECT ${LINEAGE} AS lineage FROM runs r WHERE r.id = $1`,
      [runId],
    );
    return rows[0]?.lineage ?? [];
  }

  /** Whether an execution of the run is not over, as it may be for a while after the run has ended. */
  async hasOpenExecution(database: Queryable, runId: string): Promise<boolean> {
    const rows = await database.query('SELECT 1 FROM run_executions WHERE run_id = $1 AND ended_at IS NULL', [
      runId,
    ]);
    return rows.length > 0;
  }

  /** How many runs of the team are with a worker. */
  async countUnderWay(database: Queryable, teamUid: string): Promise<number> {
    const rows = await database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM runs r WHERE r.team_uid = $1 AND ${UNDER_WAY}`,
      [teamUid],
    );
    return rows[0]?.count ?? 0;
  }

  /** What it takes to execute the run. */
  async executionFacts(database: Queryable, runId: string): Promise<ExecutionFacts | undefined> {
    const rows = await database.query<{
      prompt: string;
      agent_config: AgentConfig;
      conversation_id: string | null;
      team_uid: string | null;
      executor_uid: string;
    }>(
      `SELECT d.prompt, d.agent_config, r.conversation_id, r.team_uid, r.executor_uid
         FROM runs r JOIN run_definitions d ON d.run_id = r.id WHERE r.id = $1`,
      [runId],
    );
    const row = rows[0];
    return (
      row && {
        prompt: row.prompt,
        agentConfig: row.agent_config,
        conversationId: row.conversation_id ?? undefined,
        teamUid: row.team_uid ?? undefined,
        executorUid: row.executor_uid,
      }
    );
  }

  /** Adds an event to the timeline; a second report of the same event changes nothing. */
  async addTimelineEvent(
    tx: Tx,
    event: {
      eventUuid: string;
      runId: string;
      executionId: number;
      eventType: string;
      /** Left out: now. */
      occurredAt?: Date;
      payload: object | null;
    },
  ): Promise<void> {
    await tx.query(
      `INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, occurred_at, payload)
       VALUES ($1, $2, $3, $4, coalesce($5::timestamptz, now()), $6) ON CONFLICT (run_id, event_uuid) DO NOTHING`,
      [
        event.eventUuid,
        event.runId,
        event.executionId,
        event.eventType,
        event.occurredAt ?? null,
        event.payload === null ? null : JSON.stringify(event.payload),
      ],
    );
  }

  /** What the execution has used of models so far, in place of what was said before. */
  async setUsage(
    tx: Tx,
    { runId, executionId }: ExecutionRef,
    usage: { totalTokens: number; inferenceCostUsd: number | null },
  ): Promise<void> {
    await tx.query(
      `UPDATE run_executions SET total_tokens = $3, inference_cost_usd = $4
        WHERE id = $2 AND run_id = $1 AND ended_at IS NULL`,
      [runId, executionId, usage.totalTokens, usage.inferenceCostUsd],
    );
  }

  /** Remembers how far the run's agent has read the events that it follows. A number that was passed already changes nothing. */
  async noteEventSequence(tx: Tx, runId: string, sequence: number): Promise<void> {
    await tx.query(
      'UPDATE runs SET last_event_sequence = $2 WHERE id = $1 AND coalesce(last_event_sequence, -1) < $2',
      [runId, sequence],
    );
  }
}
