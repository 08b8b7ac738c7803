import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RunMessages1763683200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE run_messages (
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        sequence integer NOT NULL,
        message text NOT NULL,
        mode text CONSTRAINT run_messages_mode_check CHECK (mode IN ('normal', 'plan', 'orchestrate')),
        author_uid uuid NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        delivered_execution_id bigint,
        delivered_at timestamptz(3),
        PRIMARY KEY (run_id, sequence)
      )`);
    await runner.query(`
      CREATE INDEX run_messages_undelivered ON run_messages (run_id) WHERE delivered_execution_id IS NULL`);
    await runner.query(`ALTER TABLE run_executions ADD COLUMN prompt_resolved_at timestamptz(3)`);
    // Two agents that spoke in one conversation at a time would overwrite each other's transcript.
    await runner.query(`
      CREATE UNIQUE INDEX runs_one_live_of_conversation ON runs (conversation_id)
      WHERE conversation_id IS NOT NULL AND state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX runs_one_live_of_conversation`);
    await runner.query(`ALTER TABLE run_executions DROP COLUMN prompt_resolved_at`);
    await runner.query(`DROP TABLE run_messages`);
  }
}
