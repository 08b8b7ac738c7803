import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RunEvents1763683200013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // An event has no number before it has been committed: see docs/adr/0013-events-are-numbered-after-the-commit.md.
    await runner.query(`
      CREATE TABLE run_events (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        sequence bigint,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        root_run_id uuid NOT NULL,
        execution_id bigint,
        event_type text NOT NULL,
        ref_id text,
        occurred_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
      )`);
    await runner.query(`CREATE INDEX run_events_unnumbered ON run_events (id) WHERE sequence IS NULL`);
    await runner.query(
      `CREATE UNIQUE INDEX run_events_sequence ON run_events (sequence) WHERE sequence IS NOT NULL`,
    );
    await runner.query(`CREATE INDEX run_events_run ON run_events (run_id, sequence)`);
    await runner.query(
      `CREATE INDEX run_events_tree ON run_events (root_run_id, sequence) WHERE sequence IS NOT NULL`,
    );
    await runner.query(`ALTER TABLE runs ADD COLUMN last_event_sequence bigint`);

    await runner.query(`
      ALTER TABLE run_messages ADD COLUMN id uuid,
        ADD COLUMN subject text, ADD COLUMN sender_run_id uuid, ADD COLUMN read_at timestamptz(3)`);
    await runner.query(`UPDATE run_messages SET id = gen_random_uuid(), read_at = delivered_at`);
    await runner.query(`ALTER TABLE run_messages ALTER COLUMN id SET NOT NULL`);
    await runner.query(`CREATE UNIQUE INDEX run_messages_id ON run_messages (id)`);

    await runner.query(`
      ALTER TABLE run_executions ADD COLUMN session_retained_at timestamptz(3),
        ADD COLUMN session_retained_until timestamptz(3)`);
    await runner.query(`
      CREATE INDEX run_executions_retained ON run_executions (session_retained_until)
      WHERE ended_at IS NULL AND session_retained_until IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX run_executions_retained`);
    await runner.query(
      `ALTER TABLE run_executions DROP COLUMN session_retained_at, DROP COLUMN session_retained_until`,
    );
    await runner.query(`DROP INDEX run_messages_id`);
    await runner.query(`
      ALTER TABLE run_messages DROP COLUMN id, DROP COLUMN subject, DROP COLUMN sender_run_id, DROP COLUMN read_at`);
    await runner.query(`ALTER TABLE runs DROP COLUMN last_event_sequence`);
    await runner.query(`DROP TABLE run_events`);
  }
}
