import type { MigrationInterface, QueryRunner } from 'typeorm';

export class WorkerConnections1763683200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE worker_connections (
        id uuid PRIMARY KEY,
        worker_id text NOT NULL,
        team_uid uuid,
        connected_at timestamptz(3) NOT NULL DEFAULT now(),
        last_seen_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(`CREATE INDEX worker_connections_last_seen ON worker_connections (last_seen_at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE worker_connections`);
  }
}
