import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RunCreation1763683200009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE run_idempotency_keys (
        origin_key text PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        request_hash bytea NOT NULL,
        at_capacity boolean NOT NULL,
        expires_at timestamptz(3) NOT NULL
      )`);
    await runner.query(`CREATE INDEX run_idempotency_keys_expiry ON run_idempotency_keys (expires_at)`);
    await runner.query(`CREATE INDEX run_idempotency_keys_run ON run_idempotency_keys (run_id)`);
    await runner.query(`
      CREATE TABLE run_attachments (
        id uuid PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        file_name text NOT NULL,
        mime_type text NOT NULL,
        size_bytes integer NOT NULL,
        object_key text NOT NULL
      )`);
    await runner.query(`CREATE INDEX run_attachments_run ON run_attachments (run_id, id)`);
    // The execution of a run that its creator executes is on no worker.
    await runner.query(`
      ALTER TABLE run_executions ALTER COLUMN worker_id DROP NOT NULL, ALTER COLUMN connection_id DROP NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM run_executions WHERE worker_id IS NULL OR connection_id IS NULL`);
    await runner.query(`
      ALTER TABLE run_executions ALTER COLUMN worker_id SET NOT NULL, ALTER COLUMN connection_id SET NOT NULL`);
    await runner.query(`DROP TABLE run_attachments, run_idempotency_keys`);
  }
}
