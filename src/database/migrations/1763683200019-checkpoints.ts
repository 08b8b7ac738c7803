import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns that held the key of an object before. */
const OBJECT_COLUMNS = [
  ['artifacts', 'object_key'],
  ['artifact_uploads', 'object_key'],
  ['snapshot_files', 'object_key'],
  ['run_attachments', 'object_key'],
  ['conversations', 'transcript_key'],
  ['conversations', 'normalised_key'],
] as const;

/** Snapshots in the midst of an execution, what its terminal showed, and files that a run is given once it is there. */
export class Checkpoints1763683200019 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE snapshot_files ADD COLUMN generation bigint NOT NULL DEFAULT -1`);
    await runner.query(`ALTER TABLE snapshot_files ALTER COLUMN generation DROP DEFAULT`);
    await runner.query(`DROP INDEX snapshot_files_name`);
    await runner.query(`
      CREATE UNIQUE INDEX snapshot_files_name ON snapshot_files (run_id, execution_id, generation, file_name)`);
    await runner.query(`
      CREATE TABLE snapshot_checkpoints (
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        execution_id bigint NOT NULL,
        generation bigint NOT NULL,
        PRIMARY KEY (run_id, execution_id)
      )`);
    await runner.query(`ALTER TABLE conversations ADD COLUMN block_snapshot_key text`);
    await runner.query(`
      CREATE TRIGGER conversations_block_snapshot_key_object AFTER DELETE OR UPDATE OF block_snapshot_key ON conversations
      FOR EACH ROW EXECUTE FUNCTION delete_object_of_row('block_snapshot_key')`);
    await runner.query(`CREATE INDEX conversations_block_snapshot_key ON conversations (block_snapshot_key)`);
    await viewObjects(runner, [...OBJECT_COLUMNS, ['conversations', 'block_snapshot_key']]);
    // Null until the bytes are there.
    await runner.query(`ALTER TABLE run_attachments ALTER COLUMN size_bytes DROP NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM run_attachments WHERE size_bytes IS NULL`);
    await runner.query(`ALTER TABLE run_attachments ALTER COLUMN size_bytes SET NOT NULL`);
    await viewObjects(runner, OBJECT_COLUMNS);
    await runner.query(`DROP INDEX conversations_block_snapshot_key`);
    await runner.query(`DROP TRIGGER conversations_block_snapshot_key_object ON conversations`);
    await runner.query(`ALTER TABLE conversations DROP COLUMN block_snapshot_key`);
    await runner.query(`DROP TABLE snapshot_checkpoints`);
    await runner.query(`DELETE FROM snapshot_files WHERE generation >= 0`);
    await runner.query(`DROP INDEX snapshot_files_name`);
    await runner.query(`
      CREATE UNIQUE INDEX snapshot_files_name ON snapshot_files (run_id, execution_id, file_name)`);
    await runner.query(`ALTER TABLE snapshot_files DROP COLUMN generation`);
  }
}

async function viewObjects(
  runner: QueryRunner,
  columns: readonly (readonly [table: string, column: string])[],
): Promise<void> {
  await runner.query(`
    CREATE OR REPLACE VIEW object_references AS
    ${columns.map(([table, column]) => `SELECT ${column} AS object_key FROM ${table} WHERE ${column} IS NOT NULL`).join(' UNION ALL ')}`);
}
