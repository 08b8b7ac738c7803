import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config/app-config.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { RUN_STATE_MACHINE } from '../domain/run-state.js';
import { type ExecutionRef, TOUCHED } from './run-transitions.js';

/** Which of the queue a worker serves: the hosted pool's runs of all teams, or one team's runs for one worker host. */
export type WorkerPool = { kind: 'hosted' } | { kind: 'self_hosted'; teamUid: string; workerHost: string };

export interface AssignedRun extends ExecutionRef {
  title: string;
  prompt: string;
  agentConfig: Record<string, unknown>;
  conversationId?: string;
  createdAt: Date;
  updatedAt: Date;
}

/** A run `r` that is with a worker: what a team's limit counts. Those that their creators execute are not. */
export const UNDER_WAY = `r.state IN ('PENDING', 'CLAIMED', 'INPROGRESS') AND r.available_at < 'infinity'`;

/** Queued runs `r` that may be assigned now, of the pool. $1 the states to assign from, $2 worker host or '', $3 team or null. */
const ASSIGNABLE = `r.state = 'QUEUED' AND r.state = ANY ($1) AND r.available_at <= now()
            AND coalesce(r.worker_host, '') = $2 AND ($3::uuid IS NULL OR r.team_uid = $3)
            AND NOT EXISTS (SELECT 1 FROM run_executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
            AND (r.conversation_id IS NULL OR NOT EXISTS (
                  SELECT 1 FROM runs o JOIN run_executions e ON e.run_id = o.id AND e.ended_at IS NULL
                   WHERE o.conversation_id = r.conversation_id))`;

/** How much of the queue's head is looked at for runs that their teams' limits admit, beside as many as are wanted. */
const LIMITED_HEAD = 100;
const MAX_LIMITED_ATTEMPTS = 5;

/** The runs that wait for a worker. Whoever takes one has it alone, and a team never has more under way than its limit. */
@Injectable()
export class RunQueue {
  constructor(private readonly config: AppConfig) {}

  /**
   * Takes runs off the queue for a worker and opens an execution for each. Claimers wait for each other only where teams have a limit,
   * and then only those that are about to take runs of the same team.
   */
  async assign(
    tx: Tx,
    worker: { pool: WorkerPool; workerId: string; connectionId: string },
    limit: number,
  ): Promise<AssignedRun[]> {
    const teamLimit = this.config.teamMaxConcurrentRuns;
    if (teamLimit === 0) return this.take(tx, worker, limit);
    for (let attempt = 1; attempt <= MAX_LIMITED_ATTEMPTS; attempt++) {
      const teams = await this.lockAdmittedTeams(tx, worker.pool, limit, teamLimit);
      if (teams === undefined) break;
      const taken = await this.take(tx, worker, limit, { teams, teamLimit });
      // Otherwise those teams became full during the wait for their locks; another may have room.
      if (taken.length > 0) return taken;
    }
    return [];
  }

  /**
   * Locks the teams at the head of the queue that have room, until the transaction ends: nobody else assigns runs of theirs meanwhile.
   * What is counted in a later statement stays true.
   *
   * @returns undefined when there is nothing to assign; no team when it is personal runs alone
   */
  private async lockAdmittedTeams(
    tx: Tx,
    pool: WorkerPool,
    limit: number,
    teamLimit: number,
  ): Promise<string[] | undefined> {
    const rows = await tx.query<{ team_uid: string | null }>(
      `SELECT DISTINCT team_uid FROM (
         SELECT r.team_uid FROM runs r
          WHERE ${ASSIGNABLE} AND (r.team_uid IS NULL OR r.team_uid NOT IN (${FULL_TEAMS('$5')}))
          ORDER BY r.available_at, r.id LIMIT $4
       ) head ORDER BY team_uid`,
      [...assignableParameters(pool), limit, teamLimit],
    );
    if (rows.length === 0) return undefined;
    const teams = rows.flatMap((row) => (row.team_uid === null ? [] : [row.team_uid]));
    // One after the other, in one order for all: nobody waits for somebody who waits for them.
    for (const team of teams) {
      await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, [`team runs ${team}`]);
    }
    return teams;
  }

  private async take(
    tx: Tx,
    worker: { pool: WorkerPool; workerId: string; connectionId: string },
    limit: number,
    admitted?: { teams: string[]; teamLimit: number },
  ): Promise<AssignedRun[]> {
    const { pool } = worker;
    const rows = await tx.query<{
      id: string;
      execution_id: string;
      title: string;
      prompt: string;
      agent_config: Record<string, unknown>;
      conversation_id: string | null;
      created_at: Date;
      updated_at: Date;
    }>(
      `WITH ${admitted === undefined ? '' : ADMITTED_CTES}candidate AS (
         SELECT r.id FROM runs r
          WHERE ${ASSIGNABLE}${admitted === undefined ? '' : ' AND r.id IN (SELECT id FROM admitted)'}
          ORDER BY r.available_at, r.id
          LIMIT $4 FOR UPDATE OF r SKIP LOCKED
       ), opened AS (
         INSERT INTO run_executions (run_id, worker_id, connection_id, claim_deadline_at)
         SELECT id, $5, $6, now() + make_interval(secs => $7) FROM candidate
         RETURNING id, run_id
       ), moved AS (
         UPDATE runs r SET state = $8, execution_id = o.id, status_message = NULL, ${TOUCHED}
           FROM opened o WHERE r.id = o.run_id
         RETURNING r.id, r.execution_id, r.title, r.conversation_id, r.created_at, r.updated_at
       ), logged AS (
         INSERT INTO run_timeline_events (event_uuid, run_id, execution_id, event_type, payload)
         SELECT gen_random_uuid(), id, execution_id, 'run_assigned', jsonb_build_object('worker_id', $5::text) FROM moved
       )
       SELECT m.*, d.prompt, d.agent_config FROM moved m JOIN run_definitions d ON d.run_id = m.id`,
      [
        ...assignableParameters(pool),
        limit,
        worker.workerId,
        worker.connectionId,
        this.config.claimDeadlineSeconds,
        RUN_STATE_MACHINE.target('assign'),
        ...(admitted === undefined ? [] : [admitted.teams, admitted.teamLimit]),
      ],
    );
    return rows.map((row) => ({
      runId: row.id,
      executionId: Number(row.execution_id),
      title: row.title,
      prompt: row.prompt,
      agentConfig: row.agent_config,
      conversationId: row.conversation_id ?? undefined,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }));
  }
}

/** The teams that have as many runs under way as they may. @param limit a parameter of the statement, such as `$4` */
export const FULL_TEAMS = (limit: string): string => `
  SELECT r.team_uid FROM runs r WHERE ${UNDER_WAY} AND r.team_uid IS NOT NULL GROUP BY r.team_uid HAVING count(*) >= ${limit}`;

/** `admitted`: the head of the queue, of each of the locked teams ($9) no more than there is room for under the limit ($10). */
const ADMITTED_CTES = `head AS (
         SELECT r.id, r.team_uid, r.available_at FROM runs r
          WHERE ${ASSIGNABLE} AND (r.team_uid IS NULL OR r.team_uid = ANY ($9::uuid[]))
          ORDER BY r.available_at, r.id LIMIT $4 + ${String(LIMITED_HEAD)}
       ), under_way AS (
         SELECT r.team_uid, count(*) AS runs FROM runs r WHERE r.team_uid = ANY ($9::uuid[]) AND ${UNDER_WAY} GROUP BY r.team_uid
       ), admitted AS (
         SELECT h.id
           FROM (SELECT *, row_number() OVER (PARTITION BY team_uid ORDER BY available_at, id) AS place FROM head) h
           LEFT JOIN under_way u USING (team_uid)
          WHERE h.team_uid IS NULL OR h.place <= $10 - coalesce(u.runs, 0)
       ), `;

const assignableParameters = (pool: WorkerPool): unknown[] => [
  RUN_STATE_MACHINE.sources('assign'),
  pool.kind === 'hosted' ? '' : pool.workerHost,
  pool.kind === 'hosted' ? null : pool.teamUid,
];
