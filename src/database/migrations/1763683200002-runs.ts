import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Runs1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE conversations (
        id uuid PRIMARY KEY,
        format text NOT NULL,
        transcript_key text,
        normalised_key text,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    // The row that every transition rewrites: narrow, its long texts stand in run_definitions.
    await runner.query(`
      CREATE TABLE runs (
        id uuid PRIMARY KEY,
        title text NOT NULL,
        state text NOT NULL CONSTRAINT runs_state_check CHECK (state IN
          ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'SUCCEEDED', 'FAILED', 'BLOCKED', 'ERROR', 'CANCELLED')),
        status_message jsonb,
        team_uid uuid,
        owner_uid uuid,
        creator_uid uuid NOT NULL,
        executor_uid uuid NOT NULL,
        source text NOT NULL,
        worker_host text,
        execution_id bigint,
        conversation_id uuid REFERENCES conversations,
        metadata jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        started_at timestamptz(3),
        available_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT runs_one_scope CHECK (num_nonnulls(team_uid, owner_uid) = 1)
      )`);
    await runner.query(`
      CREATE INDEX runs_queue ON runs (coalesce(worker_host, ''), available_at, id) WHERE state = 'QUEUED'`);
    await runner.query(
      `CREATE INDEX runs_team_updated ON runs (team_uid, updated_at, id) WHERE team_uid IS NOT NULL`,
    );
    await runner.query(
      `CREATE INDEX runs_owner_updated ON runs (owner_uid, updated_at, id) WHERE owner_uid IS NOT NULL`,
    );
    await runner.query(
      `CREATE INDEX runs_conversation ON runs (conversation_id) WHERE conversation_id IS NOT NULL`,
    );
    await runner.query(`
      CREATE INDEX runs_live_state ON runs (state)
      WHERE state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS')`);
    await runner.query(`
      CREATE TABLE run_definitions (
        run_id uuid PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
        prompt text NOT NULL,
        agent_config jsonb NOT NULL
      )`);
    await runner.query(`
      CREATE TABLE run_executions (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        worker_id text NOT NULL,
        connection_id uuid NOT NULL,
        assigned_at timestamptz(3) NOT NULL DEFAULT now(),
        claim_deadline_at timestamptz(3) NOT NULL,
        claimed_at timestamptz(3),
        lease_expires_at timestamptz(3),
        started_at timestamptz(3),
        stop_requested_at timestamptz(3),
        ended_at timestamptz(3),
        end_reason text
      )`);
    // What the state machine promises, promised by the database: a run has one live execution at most.
    await runner.query(
      `CREATE UNIQUE INDEX run_executions_one_live ON run_executions (run_id) WHERE ended_at IS NULL`,
    );
    await runner.query(`CREATE INDEX run_executions_run ON run_executions (run_id, id)`);
    await runner.query(`
      CREATE INDEX run_executions_live_connection ON run_executions (connection_id) WHERE ended_at IS NULL`);
    await runner.query(`
      CREATE TABLE run_timeline_events (
        sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        event_uuid uuid NOT NULL,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        execution_id bigint,
        event_type text NOT NULL,
        occurred_at timestamptz(3) NOT NULL DEFAULT now(),
        payload jsonb
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX run_timeline_events_uuid ON run_timeline_events (run_id, event_uuid)`,
    );
    await runner.query(`CREATE INDEX run_timeline_events_run ON run_timeline_events (run_id, sequence)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP TABLE run_timeline_events, run_executions, run_definitions, runs, conversations`,
    );
  }
}
