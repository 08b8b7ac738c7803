import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The scorers of a definition go with their factory. */
export class ScorersOfFactories1763683200020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM scorers s
       WHERE factory_uid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM factories f WHERE f.uid = s.factory_uid)`);
    await runner.query(`
      ALTER TABLE scorers ADD CONSTRAINT scorers_factory_uid_fkey
        FOREIGN KEY (factory_uid) REFERENCES factories ON DELETE CASCADE`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE scorers DROP CONSTRAINT scorers_factory_uid_fkey`);
  }
}
