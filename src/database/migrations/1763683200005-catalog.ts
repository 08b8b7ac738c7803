import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Catalog1763683200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE environments (
        uid text PRIMARY KEY CONSTRAINT environments_uid_check CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
        team_uid uuid,
        owner_uid uuid,
        name text NOT NULL,
        config jsonb NOT NULL,
        creator_uid uuid NOT NULL,
        last_editor_uid uuid NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        last_updated timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT environments_one_scope CHECK (num_nonnulls(team_uid, owner_uid) = 1)
      )`);
    await runner.query(
      `CREATE INDEX environments_team ON environments (team_uid) WHERE team_uid IS NOT NULL`,
    );
    await runner.query(
      `CREATE INDEX environments_owner ON environments (owner_uid) WHERE owner_uid IS NOT NULL`,
    );
    await runner.query(`
      CREATE TABLE environment_shares (
        uid uuid PRIMARY KEY,
        environment_uid text NOT NULL REFERENCES environments ON DELETE CASCADE,
        kind text NOT NULL CONSTRAINT environment_shares_kind_check CHECK (kind IN ('user', 'team', 'link')),
        grantee_uid uuid,
        link_hash bytea,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT environment_shares_grantee CHECK ((kind = 'link') = (grantee_uid IS NULL)),
        CONSTRAINT environment_shares_link CHECK ((kind = 'link') = (link_hash IS NOT NULL))
      )`);
    await runner.query(`
      CREATE UNIQUE INDEX environment_shares_grantee_once
      ON environment_shares (environment_uid, kind, grantee_uid)`);
    await runner.query(`
      CREATE UNIQUE INDEX environment_shares_link_once ON environment_shares (environment_uid) WHERE kind = 'link'`);
    await runner.query(`
      CREATE INDEX environment_shares_by_grantee ON environment_shares (grantee_uid) WHERE grantee_uid IS NOT NULL`);
    // Whoever has opened a link has its environment in their list from then on, for as long as the link lives.
    await runner.query(`
      CREATE TABLE environment_link_visits (
        share_uid uuid NOT NULL REFERENCES environment_shares ON DELETE CASCADE,
        visitor_uid uuid NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (share_uid, visitor_uid)
      )`);
    await runner.query(
      `CREATE INDEX environment_link_visits_visitor ON environment_link_visits (visitor_uid)`,
    );
    await runner.query(`
      CREATE TABLE secrets (
        uid uuid PRIMARY KEY,
        team_uid uuid,
        owner_uid uuid,
        name text NOT NULL,
        ciphertext bytea NOT NULL,
        key_id text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT secrets_one_scope CHECK (num_nonnulls(team_uid, owner_uid) = 1)
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX secrets_team_name ON secrets (team_uid, name) WHERE team_uid IS NOT NULL`,
    );
    await runner.query(
      `CREATE UNIQUE INDEX secrets_owner_name ON secrets (owner_uid, name) WHERE owner_uid IS NOT NULL`,
    );
    await runner.query(`CREATE INDEX secrets_key ON secrets (key_id)`);
    // Which environment and which skill a run uses: for their lists, and for the runs' filters.
    await runner.query(`ALTER TABLE runs ADD COLUMN environment_id text`);
    await runner.query(`ALTER TABLE runs ADD COLUMN skill_spec text`);
    await runner.query(`
      CREATE INDEX runs_environment ON runs (environment_id, created_at, id) WHERE environment_id IS NOT NULL`);
    await runner.query(
      `CREATE INDEX runs_skill ON runs (skill_spec, created_at, id) WHERE skill_spec IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE runs DROP COLUMN skill_spec, DROP COLUMN environment_id`);
    await runner.query(`DROP TABLE secrets, environment_link_visits, environment_shares, environments`);
  }
}
