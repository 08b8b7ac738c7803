import type { MigrationInterface, QueryRunner } from 'typeorm';

export class WebhookDeliveries1763683200012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // No table here refers to another one: each delivery would pay for the check. Sweepers remove what a deleted webhook leaves.
    await runner.query(`
      CREATE TABLE webhook_deliveries (
        id uuid PRIMARY KEY,
        webhook_uid uuid NOT NULL,
        status text NOT NULL CONSTRAINT webhook_deliveries_status_check CHECK (
          status IN ('accepted', 'duplicate', 'rejected_auth', 'rejected_invalid_json', 'rejected_too_large')),
        duplicate_of uuid,
        identity_kind text CONSTRAINT webhook_deliveries_identity_kind_check CHECK (
          identity_kind IN ('header', 'provider', 'service', 'body_hash')),
        identity_value text,
        size_bytes integer NOT NULL,
        received_at timestamptz(3) NOT NULL,
        headers jsonb NOT NULL,
        payload bytea,
        CONSTRAINT webhook_deliveries_payload_of_accepted CHECK ((status = 'accepted') = (payload IS NOT NULL))
      )`);
    await runner.query(`
      CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_uid, status, received_at, id)`);
    await runner.query(`
      CREATE TABLE webhook_identities (
        webhook_uid uuid NOT NULL,
        fingerprint uuid NOT NULL,
        delivery_id uuid NOT NULL,
        PRIMARY KEY (webhook_uid, fingerprint)
      )`);
    await runner.query(`
      CREATE TABLE webhook_budgets (
        key uuid PRIMARY KEY,
        spent_at timestamptz[] NOT NULL,
        granted integer NOT NULL
      )`);
    await runner.query(`
      CREATE TABLE webhook_evaluation_queue (
        webhook_uid uuid NOT NULL,
        delivery_id uuid NOT NULL,
        available_at timestamptz(3) NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        PRIMARY KEY (webhook_uid, delivery_id)
      )`);
    await runner.query(`
      CREATE TABLE delivery_evaluations (
        delivery_id uuid NOT NULL,
        automation_uid uuid NOT NULL,
        outcome text NOT NULL CONSTRAINT delivery_evaluations_outcome_check CHECK (
          outcome IN ('matched', 'not_matched', 'error')),
        run_id uuid,
        failed_path text,
        reason text,
        PRIMARY KEY (delivery_id, automation_uid)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE delivery_evaluations, webhook_evaluation_queue, webhook_budgets, webhook_identities, webhook_deliveries`);
  }
}
