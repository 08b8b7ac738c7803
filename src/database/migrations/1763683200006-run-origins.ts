import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RunOrigins1763683200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE runs
        ADD COLUMN config_name text,
        ADD COLUMN model_id text,
        ADD COLUMN mode text NOT NULL DEFAULT 'normal'
          CONSTRAINT runs_mode_check CHECK (mode IN ('normal', 'plan', 'orchestrate')),
        ADD COLUMN interactive boolean NOT NULL DEFAULT false,
        ADD COLUMN schedule_id uuid,
        ADD COLUMN parent_run_id uuid,
        ADD COLUMN ancestor_ids uuid[] NOT NULL DEFAULT '{}',
        ADD COLUMN origin_key text`);
    // Whatever creates runs once (an idempotency key, a delivery, a tick) names what it creates.
    await runner.query(
      `CREATE UNIQUE INDEX runs_origin_key ON runs (origin_key) WHERE origin_key IS NOT NULL`,
    );
    await runner.query(`CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE runs DROP COLUMN origin_key, DROP COLUMN ancestor_ids, DROP COLUMN parent_run_id,
        DROP COLUMN schedule_id, DROP COLUMN interactive, DROP COLUMN mode, DROP COLUMN model_id, DROP COLUMN config_name`);
  }
}
