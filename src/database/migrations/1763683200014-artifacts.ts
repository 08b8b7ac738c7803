import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns that hold the key of an object, by table. When such a row goes, or names another object, the object goes too. */
const OBJECT_COLUMNS = [
  ['artifacts', 'object_key'],
  ['artifact_uploads', 'object_key'],
  ['snapshot_files', 'object_key'],
  ['run_attachments', 'object_key'],
  ['conversations', 'transcript_key'],
  ['conversations', 'normalised_key'],
] as const;

export class Artifacts1763683200014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE artifacts (
        uid uuid PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        scope_uid uuid NOT NULL,
        artifact_type text NOT NULL,
        identity text NOT NULL,
        data jsonb NOT NULL,
        public boolean NOT NULL DEFAULT false,
        object_key text,
        size_bytes bigint,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT artifacts_type_check
          CHECK (artifact_type IN ('PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE')),
        CONSTRAINT artifacts_object_check
          CHECK ((artifact_type IN ('SCREENSHOT', 'FILE')) = (object_key IS NOT NULL AND size_bytes IS NOT NULL))
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX artifacts_identity ON artifacts (run_id, artifact_type, identity)`,
    );
    await runner.query(`CREATE INDEX artifacts_run ON artifacts (run_id, created_at, uid)`);
    await runner.query(`
      CREATE INDEX artifacts_reference ON artifacts (identity, scope_uid, created_at, uid)
      WHERE artifact_type = 'EXTERNAL_REFERENCE'`);
    await runner.query(`
      CREATE TABLE artifact_plan_versions (
        artifact_uid uuid NOT NULL REFERENCES artifacts ON DELETE CASCADE,
        version integer NOT NULL,
        content text NOT NULL,
        content_type text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (artifact_uid, version)
      )`);
    // What has a place to be put at, and has not been reported yet.
    await runner.query(`
      CREATE TABLE artifact_uploads (
        uid uuid PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        artifact_type text NOT NULL,
        mime_type text NOT NULL,
        object_key text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT artifact_uploads_type_check CHECK (artifact_type IN ('SCREENSHOT', 'FILE'))
      )`);
    await runner.query(`CREATE INDEX artifact_uploads_run ON artifact_uploads (run_id)`);
    await runner.query(`CREATE INDEX artifact_uploads_created ON artifact_uploads (created_at)`);
    await runner.query(`
      CREATE TABLE snapshot_files (
        id uuid PRIMARY KEY,
        run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
        execution_id bigint NOT NULL,
        file_name text NOT NULL,
        mime_type text NOT NULL,
        object_key text NOT NULL
      )`);
    await runner.query(`
      CREATE UNIQUE INDEX snapshot_files_name ON snapshot_files (run_id, execution_id, file_name)`);
    await runner.query(`
      CREATE TABLE object_deletions (
        object_key text PRIMARY KEY,
        due_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(`CREATE INDEX object_deletions_due ON object_deletions (due_at)`);
    // In the transaction that removes the row, whoever removes it: a run that goes takes everything below it along by its foreign keys.
    await runner.query(`
      CREATE FUNCTION delete_object_of_row() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        old_key text := to_jsonb(OLD) ->> TG_ARGV[0];
      BEGIN
        IF old_key IS NOT NULL AND (TG_OP = 'DELETE' OR old_key IS DISTINCT FROM to_jsonb(NEW) ->> TG_ARGV[0]) THEN
          INSERT INTO object_deletions (object_key) VALUES (old_key) ON CONFLICT DO NOTHING;
        END IF;
        RETURN NULL;
      END $$`);
    for (const [table, column] of OBJECT_COLUMNS) {
      await runner.query(`
        CREATE TRIGGER ${table}_${column}_object AFTER DELETE OR UPDATE OF ${column} ON ${table}
        FOR EACH ROW EXECUTE FUNCTION delete_object_of_row('${column}')`);
    }
    await runner.query(`
      CREATE VIEW object_references AS
      ${OBJECT_COLUMNS.map(([table, column]) => `SELECT ${column} AS object_key FROM ${table} WHERE ${column} IS NOT NULL`).join(' UNION ALL ')}`);
    for (const [table, column] of OBJECT_COLUMNS) {
      await runner.query(`CREATE INDEX ${table}_${column} ON ${table} (${column})`);
    }
    await runner.query(`ALTER TABLE run_definitions ADD COLUMN agent_skill jsonb`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE run_definitions DROP COLUMN agent_skill`);
    await runner.query(`DROP VIEW object_references`);
    for (const [table, column] of OBJECT_COLUMNS) {
      await runner.query(`DROP INDEX ${table}_${column}`);
      await runner.query(`DROP TRIGGER ${table}_${column}_object ON ${table}`);
    }
    await runner.query(`DROP FUNCTION delete_object_of_row`);
    await runner.query(
      `DROP TABLE object_deletions, snapshot_files, artifact_uploads, artifact_plan_versions, artifacts`,
    );
  }
}
