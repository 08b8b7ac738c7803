import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Webhooks1763683200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE factories (
        uid uuid PRIMARY KEY,
        team_uid uuid NOT NULL REFERENCES teams ON DELETE CASCADE,
        name text NOT NULL,
        mode text NOT NULL DEFAULT 'managed'
          CONSTRAINT factories_mode_check CHECK (mode IN ('managed', 'repository')),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(`CREATE UNIQUE INDEX factories_team_name ON factories (team_uid, lower(name))`);
    // A deleted webhook stays, without its secret: automations still show it, and its deliveries can still be read.
    await runner.query(`
      CREATE TABLE webhooks (
        uid uuid PRIMARY KEY,
        factory_uid uuid NOT NULL REFERENCES factories ON DELETE CASCADE,
        team_uid uuid NOT NULL,
        name text NOT NULL,
        auth_mode text NOT NULL
          CONSTRAINT webhooks_auth_mode_check CHECK (auth_mode IN ('token', 'url_token', 'signature')),
        signature_scheme text,
        secret_name text NOT NULL,
        made_secret boolean NOT NULL DEFAULT false,
        secret_hash bytea,
        sealed_secret bytea,
        sealed_key_id text,
        delivery_id_header text,
        enabled boolean NOT NULL,
        version bigint NOT NULL DEFAULT '1',
        deleted_at timestamptz(3),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT webhooks_scheme_of_mode CHECK ((auth_mode = 'signature') = (signature_scheme IS NOT NULL)),
        CONSTRAINT webhooks_secret_of_mode CHECK (
          CASE WHEN auth_mode = 'signature' THEN secret_hash IS NULL ELSE sealed_secret IS NULL END),
        CONSTRAINT webhooks_sealed_with_key CHECK ((sealed_secret IS NULL) = (sealed_key_id IS NULL)),
        CONSTRAINT webhooks_enabled_with_secret CHECK (
          NOT enabled OR (deleted_at IS NULL AND num_nonnulls(secret_hash, sealed_secret) = 1))
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX webhooks_factory_name ON webhooks (factory_uid, lower(name)) WHERE deleted_at IS NULL`,
    );
    await runner.query(`CREATE INDEX webhooks_factory ON webhooks (factory_uid)`);
    await runner.query(
      `CREATE INDEX webhooks_key ON webhooks (sealed_key_id) WHERE sealed_key_id IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE webhooks, factories`);
  }
}
