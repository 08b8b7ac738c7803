import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Automations1763683200016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE automations (
        uid uuid PRIMARY KEY,
        factory_uid uuid NOT NULL REFERENCES factories ON DELETE CASCADE,
        name text NOT NULL,
        enabled boolean NOT NULL,
        agent_uid uuid,
        prompt text NOT NULL,
        triggers jsonb NOT NULL,
        config jsonb,
        last_editor_uid uuid NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX automations_factory_name ON automations (factory_uid, lower(name))`,
    );
    // Which automations select a webhook. No reference: a deleted factory takes its webhooks and its automations at once.
    await runner.query(`
      CREATE TABLE automation_webhooks (
        webhook_uid uuid NOT NULL,
        automation_uid uuid NOT NULL REFERENCES automations ON DELETE CASCADE,
        PRIMARY KEY (webhook_uid, automation_uid)
      )`);
    await runner.query(`CREATE INDEX automation_webhooks_automation ON automation_webhooks (automation_uid)`);
    // The cron triggers of automations, which fire what they belong to.
    await runner.query(`
      CREATE TABLE automation_schedules (
        trigger_id uuid PRIMARY KEY,
        automation_uid uuid NOT NULL REFERENCES automations ON DELETE CASCADE,
        cron text NOT NULL,
        name text
      )`);
    await runner.query(
      `CREATE INDEX automation_schedules_automation ON automation_schedules (automation_uid)`,
    );
    // Raised by every change of the factory's automations: by it replicas know what they have compiled.
    await runner.query(`
      CREATE TABLE automation_sets (
        factory_uid uuid PRIMARY KEY REFERENCES factories ON DELETE CASCADE,
        revision bigint NOT NULL
      )`);
    // What a definition has no more is disabled: its runs and its keys still refer to it.
    await runner.query(`ALTER TABLE agents ADD COLUMN disabled boolean NOT NULL DEFAULT false`);
    await runner.query(`
      CREATE TABLE factory_agents (
        factory_uid uuid NOT NULL REFERENCES factories ON DELETE CASCADE,
        name text NOT NULL,
        agent_uid uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
        PRIMARY KEY (factory_uid, name)
      )`);
    await runner.query(`CREATE INDEX factory_agents_agent ON factory_agents (agent_uid)`);

    // What deliveries were held against: for thousands of them it is the same, so each keeps numbers alone.
    await runner.query(`
      CREATE TABLE evaluation_plans (
        id uuid PRIMARY KEY,
        webhook_uid uuid NOT NULL,
        revision bigint NOT NULL,
        automation_uids uuid[] NOT NULL,
        failed_paths text[] NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX evaluation_plans_webhook_revision ON evaluation_plans (webhook_uid, revision)`,
    );
    await runner.query(`
      CREATE TABLE delivery_outcomes (
        delivery_id uuid PRIMARY KEY REFERENCES webhook_deliveries ON DELETE CASCADE,
        plan_id uuid NOT NULL REFERENCES evaluation_plans,
        outcomes smallint[] NOT NULL
      )`);
    await runner.query(`CREATE INDEX delivery_outcomes_plan ON delivery_outcomes (plan_id)`);
    await runner.query(`
      ALTER TABLE delivery_evaluations
        DROP CONSTRAINT delivery_evaluations_outcome_check,
        ADD CONSTRAINT delivery_evaluations_outcome_check CHECK (
          outcome IN ('matched', 'not_matched', 'error', 'pending')),
        ADD CONSTRAINT delivery_evaluations_delivery_id_fkey
          FOREIGN KEY (delivery_id) REFERENCES webhook_deliveries ON DELETE CASCADE,
        ADD COLUMN webhook_uid uuid NOT NULL,
        ADD COLUMN available_at timestamptz(3) NOT NULL DEFAULT now(),
        ADD COLUMN attempts integer NOT NULL DEFAULT '0',
        DROP COLUMN failed_path`);
    await runner.query(`
      CREATE INDEX delivery_evaluations_pending ON delivery_evaluations (webhook_uid, available_at)
       WHERE outcome = 'pending'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE agents DROP COLUMN disabled`);
    await runner.query(`DROP INDEX delivery_evaluations_pending`);
    await runner.query(`DELETE FROM delivery_evaluations WHERE outcome = 'pending'`);
    await runner.query(`
      ALTER TABLE delivery_evaluations
        DROP CONSTRAINT delivery_evaluations_outcome_check,
        ADD CONSTRAINT delivery_evaluations_outcome_check CHECK (outcome IN ('matched', 'not_matched', 'error')),
        DROP CONSTRAINT delivery_evaluations_delivery_id_fkey,
        DROP COLUMN webhook_uid,
        DROP COLUMN available_at,
        DROP COLUMN attempts,
        ADD COLUMN failed_path text`);
    await runner.query(
      `DROP TABLE delivery_outcomes, evaluation_plans, factory_agents, automation_sets, automation_schedules, automation_webhooks, automations`,
    );
  }
}
