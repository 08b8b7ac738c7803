import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Schedules1763683200015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE schedules (
        id uuid PRIMARY KEY,
        team_uid uuid,
        owner_uid uuid,
        name text NOT NULL,
        prompt text NOT NULL,
        mode text NOT NULL DEFAULT 'normal',
        agent_uid uuid,
        agent_config jsonb,
        skill_spec text,
        metadata jsonb NOT NULL DEFAULT '{}',
        created_by uuid NOT NULL,
        updated_by uuid NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT schedules_one_scope CHECK (num_nonnulls(team_uid, owner_uid) = 1),
        CONSTRAINT schedules_mode_check CHECK (mode IN ('normal', 'plan', 'orchestrate'))
      )`);
    await runner.query(`CREATE INDEX schedules_team ON schedules (team_uid) WHERE team_uid IS NOT NULL`);
    await runner.query(`CREATE INDEX schedules_owner ON schedules (owner_uid) WHERE owner_uid IS NOT NULL`);
    await runner.query(`
      CREATE TABLE cron_triggers (
        id uuid PRIMARY KEY,
        kind text NOT NULL,
        cron text NOT NULL,
        timezone text NOT NULL,
        anchor_at timestamptz(3) NOT NULL,
        catch_up_minutes integer NOT NULL,
        enabled boolean NOT NULL,
        next_tick_at timestamptz(3),
        reckoned_at timestamptz(3) NOT NULL,
        last_ran_at timestamptz(3),
        last_error text
      )`);
    // What is due. A paused trigger waits for nothing.
    await runner.query(
      `CREATE INDEX cron_triggers_due ON cron_triggers (next_tick_at) WHERE next_tick_at IS NOT NULL`,
    );
    // What was reckoned with a clock that has been put back since.
    await runner.query(
      `CREATE INDEX cron_triggers_reckoned ON cron_triggers (reckoned_at) WHERE next_tick_at IS NOT NULL`,
    );
    await runner.query(`
      CREATE TABLE cron_ticks (
        trigger_id uuid NOT NULL REFERENCES cron_triggers ON DELETE CASCADE,
        tick_at timestamptz(3) NOT NULL,
        outcome text NOT NULL,
        run_id uuid,
        reason text,
        decided_at timestamptz(3) NOT NULL,
        PRIMARY KEY (trigger_id, tick_at),
        CONSTRAINT cron_ticks_outcome_check CHECK (outcome IN ('fired', 'missed', 'failed'))
      )`);
    await runner.query(
      `ALTER TABLE run_definitions ADD COLUMN schedule_name text, ADD COLUMN cron_schedule text`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE run_definitions DROP COLUMN schedule_name, DROP COLUMN cron_schedule`);
    await runner.query(`DROP TABLE cron_ticks, cron_triggers, schedules`);
  }
}
