import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { AgentConfig } from '../domain/agent-config.js';
import type { RunSource } from '../domain/run-source.js';
import { INSERT_SEARCH_CTES, SEARCH_INPUT_COLUMNS, searchInput } from './run-search.js';

/** The columns of a new run, by their names in the tables. */
export interface RunToInsert {
  id: string;
  title: string;
  prompt: string;
  agent_config: AgentConfig;
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

/** Writes of runs other than their transitions, and the few facts of one run that use cases need. */
@Injectable()
export class RunRepository {
  /**
   * Queues runs, each with the first event of its timeline: one statement, however many they are.
   *
   * @returns the ids of those that there are now: not of one whose conversation another live run continues
   */
  async insert(tx: Tx, runs: RunToInsert[]): Promise<string[]> {
    const rows = await tx.query<{ run_id: string }>(
      `WITH requested AS (
         SELECT * FROM jsonb_to_recordset($1::jsonb) AS i (
           id uuid, title text, prompt text, agent_config jsonb, team_uid uuid, owner_uid uuid, creator_uid uuid,
           executor_uid uuid, source text, worker_host text, config_name text, model_id text, environment_id text,
           skill_spec text, metadata jsonb, conversation_id uuid, ${SEARCH_INPUT_COLUMNS})
       ), run AS (
         INSERT INTO runs (id, title, state, team_uid, owner_uid, creator_uid, executor_uid, source, worker_host,
                           config_name, model_id, environment_id, skill_spec, metadata, conversation_id)
         SELECT id, title, 'QUEUED', team_uid, owner_uid, creator_uid, executor_uid, source, worker_host,
                config_name, model_id, environment_id, skill_spec, metadata, conversation_id FROM requested
         ON CONFLICT (conversation_id)
           WHERE conversation_id IS NOT NULL AND state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS')
           DO NOTHING
         RETURNING id
       ), input AS (
         SELECT requested.* FROM requested JOIN run USING (id)
       ), definition AS (
         INSERT INTO run_definitions (run_id, prompt, agent_config) SELECT id, prompt, agent_config FROM input
       ), ${INSERT_SEARCH_CTES}
       INSERT INTO run_timeline_events (event_uuid, run_id, event_type, payload)
       SELECT gen_random_uuid(), id, 'oz_run_created', jsonb_build_object('source', source) FROM input
       RETURNING run_id`,
      [JSON.stringify(runs.map((run) => ({ ...run, ...searchInput(run) })))],
    );
    return rows.map(({ run_id: id }) => id);
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
      occurredAt: Date;
      payload: object | null;
    },
  ): Promise<void> {
    await tx.query(
      `INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, occurred_at, payload)
       VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (run_id, event_uuid) DO NOTHING`,
      [
        event.eventUuid,
        event.runId,
        event.executionId,
        event.eventType,
        event.occurredAt,
        event.payload === null ? null : JSON.stringify(event.payload),
      ],
    );
  }

  /** The newest event's place in the order of all events. */
  async latestSequence(database: Queryable, runId: string): Promise<number> {
    const rows = await database.query<{ sequence: string | null }>(
      'SELECT max(sequence) AS sequence FROM run_timeline_events WHERE run_id = $1',
      [runId],
    );
    return Number(rows[0]?.sequence ?? 0);
  }
}
