import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RunUsage1763683200018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE run_executions
        ADD COLUMN total_tokens bigint,
        ADD COLUMN inference_cost_usd numeric(14, 6)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE run_executions DROP COLUMN inference_cost_usd, DROP COLUMN total_tokens`);
  }
}
