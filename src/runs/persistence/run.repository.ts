import { Injectable } from '@nestjs/common';
import type { Queryable, Tx } from '../../kernel/persistence/database.js';
import type { AgentConfig } from '../domain/agent-config.js';
import type { RunSource } from '../domain/run-source.js';

export interface RunToInsert {
  id: string;
  title: string;
  prompt: string;
  agentConfig: AgentConfig;
  teamUid: string | null;
  ownerUid: string | null;
  creatorUid: string;
  executorUid: string;
  source: RunSource;
  workerHost: string | null;
  metadata: Record<string, string>;
}

/** Writes of runs other than their transitions, and the few facts of one run that use cases need. */
@Injectable()
export class RunRepository {
  /** Queues a run, with the first event of its timeline. */
  async insert(tx: Tx, run: RunToInsert): Promise<void> {
    await tx.query(
      `WITH run AS (
         INSERT INTO runs (id, title, state, team_uid, owner_uid, creator_uid, executor_uid, source, worker_host, metadata)
         VALUES ($1, $2, 'QUEUED', $3, $4, $5, $6, $7, $8, $9)
       ), definition AS (
         INSERT INTO run_definitions (run_id, prompt, agent_config) VALUES ($1, $10, $11)
       )
       INSERT INTO run_timeline_events (event_uuid, run_id, event_type, payload)
       VALUES (gen_random_uuid(), $1, 'oz_run_created', jsonb_build_object('source', $7::text))`,
      [
        run.id,
        run.title,
        run.teamUid,
        run.ownerUid,
        run.creatorUid,
        run.executorUid,
        run.source,
        run.workerHost,
        JSON.stringify(run.metadata),
        run.prompt,
        JSON.stringify(run.agentConfig),
      ],
    );
  }

  async promptOf(database: Queryable, runId: string): Promise<string | undefined> {
    const rows = await database.query<{ prompt: string }>(
      'SELECT prompt FROM run_definitions WHERE run_id = $1',
      [runId],
    );
    return rows[0]?.prompt;
  }

  async executionFacts(
    database: Queryable,
    runId: string,
  ): Promise<{ agentConfig: AgentConfig; conversationId?: string } | undefined> {
    const rows = await database.query<{ agent_config: AgentConfig; conversation_id: string | null }>(
      `SELECT d.agent_config, r.conversation_id FROM runs r JOIN run_definitions d ON d.run_id = r.id WHERE r.id = $1`,
      [runId],
    );
    const row = rows[0];
    return row && { agentConfig: row.agent_config, conversationId: row.conversation_id ?? undefined };
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
