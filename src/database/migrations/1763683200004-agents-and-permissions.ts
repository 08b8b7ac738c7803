import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AgentsAndPermissions1763683200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE memberships ADD COLUMN permissions text[] NOT NULL DEFAULT '{}'`);
    await runner.query(`CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE email IS NOT NULL`);
    await runner.query(`
      CREATE TABLE agents (
        uid uuid PRIMARY KEY,
        team_uid uuid NOT NULL REFERENCES teams ON DELETE CASCADE,
        name text NOT NULL,
        description text,
        prompt text,
        is_default boolean NOT NULL DEFAULT false,
        environment_id text,
        base_model text,
        base_harness text,
        harness jsonb,
        harness_auth_secrets jsonb,
        secrets text[] NOT NULL DEFAULT '{}',
        skills text[] NOT NULL DEFAULT '{}',
        mcp_servers jsonb,
        memory jsonb NOT NULL DEFAULT '{"auto_memory": {"enabled": false}, "attached_stores": []}',
        inference_providers jsonb,
        credential_strategy text,
        default_runner_uid text NOT NULL DEFAULT '',
        on_behalf_of_enabled boolean NOT NULL DEFAULT false,
        worker_host text,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    // The order by age, which decides which of a team's agents are within its plan.
    await runner.query(`CREATE INDEX agents_team_age ON agents (team_uid, created_at, uid)`);
    await runner.query(`CREATE UNIQUE INDEX agents_team_default ON agents (team_uid) WHERE is_default`);
    // Teams of before have no default agent yet.
    await runner.query(`
      INSERT INTO agents (uid, team_uid, name, is_default)
      SELECT gen_random_uuid(), uid, 'Default agent', true FROM teams`);
    await runner.query(`ALTER TABLE api_keys ADD COLUMN agent_uid uuid`);
    await runner.query(`
      ALTER TABLE api_keys ADD CONSTRAINT api_keys_agent_uid_fkey
      FOREIGN KEY (agent_uid) REFERENCES agents ON DELETE CASCADE`);
    await runner.query(`ALTER TABLE api_keys DROP CONSTRAINT api_keys_one_owner`);
    await runner.query(`
      ALTER TABLE api_keys ADD CONSTRAINT api_keys_one_owner CHECK (num_nonnulls(user_uid, agent_uid, run_id) = 1)`);
    await runner.query(`CREATE INDEX api_keys_agent_uid ON api_keys (agent_uid) WHERE agent_uid IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DELETE FROM api_keys WHERE agent_uid IS NOT NULL`);
    await runner.query(`ALTER TABLE api_keys DROP CONSTRAINT api_keys_one_owner`);
    await runner.query(`ALTER TABLE api_keys DROP COLUMN agent_uid`);
    await runner.query(
      `ALTER TABLE api_keys ADD CONSTRAINT api_keys_one_owner CHECK (num_nonnulls(user_uid, run_id) = 1)`,
    );
    await runner.query(`DROP TABLE agents`);
    await runner.query(`DROP INDEX users_email`);
    await runner.query(`ALTER TABLE memberships DROP COLUMN permissions`);
  }
}
