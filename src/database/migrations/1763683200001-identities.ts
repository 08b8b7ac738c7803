import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Identities1763683200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE users (
        uid uuid PRIMARY KEY,
        display_name text NOT NULL,
        email text,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(`
      CREATE TABLE teams (
        uid uuid PRIMARY KEY,
        name text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(`
      CREATE TABLE memberships (
        team_uid uuid NOT NULL REFERENCES teams ON DELETE CASCADE,
        user_uid uuid NOT NULL REFERENCES users ON DELETE CASCADE,
        role text NOT NULL CONSTRAINT memberships_role_check CHECK (role IN ('admin', 'member')),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (team_uid, user_uid)
      )`);
    await runner.query(`CREATE INDEX memberships_user_uid ON memberships (user_uid)`);
    await runner.query(`
      CREATE TABLE api_keys (
        uid uuid PRIMARY KEY,
        name text NOT NULL,
        prefix text NOT NULL,
        last_four text NOT NULL,
        hash bytea NOT NULL,
        user_uid uuid REFERENCES users ON DELETE CASCADE,
        run_id uuid,
        execution_id bigint,
        operator boolean NOT NULL DEFAULT false,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        expires_at timestamptz(3),
        last_used_at timestamptz(3),
        CONSTRAINT api_keys_one_owner CHECK (num_nonnulls(user_uid, run_id) = 1),
        CONSTRAINT api_keys_run_execution CHECK ((run_id IS NULL) = (execution_id IS NULL))
      )`);
    await runner.query(`CREATE INDEX api_keys_prefix ON api_keys (prefix)`);
    await runner.query(`CREATE INDEX api_keys_user_uid ON api_keys (user_uid) WHERE user_uid IS NOT NULL`);
    await runner.query(
      `CREATE INDEX api_keys_execution_id ON api_keys (execution_id) WHERE execution_id IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE api_keys, memberships, teams, users`);
  }
}
