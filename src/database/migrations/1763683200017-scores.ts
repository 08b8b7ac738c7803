import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Scores1763683200017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE scorers (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        team_uid uuid NOT NULL,
        factory_uid uuid,
        name text NOT NULL,
        rubric text NOT NULL,
        agent_uids uuid[] NOT NULL,
        labels jsonb NOT NULL,
        passing_score double precision NOT NULL,
        sampling_rate double precision NOT NULL,
        model_id text,
        harness jsonb,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    // A factory's definition has names of its own, which the API's cannot get in the way of.
    await runner.query(`
      CREATE UNIQUE INDEX scorers_name_of_team ON scorers (team_uid, name) WHERE factory_uid IS NULL`);
    await runner.query(`
      CREATE UNIQUE INDEX scorers_name_of_factory ON scorers (factory_uid, name) WHERE factory_uid IS NOT NULL`);
    await runner.query(`CREATE INDEX scorers_team ON scorers (team_uid, name, id)`);

    await runner.query(`
      CREATE TABLE evaluations (
        id uuid PRIMARY KEY,
        team_uid uuid NOT NULL,
        run_id uuid NOT NULL,
        requested_by uuid,
        model_id text,
        harness jsonb NOT NULL,
        judge_run_id uuid,
        dispatch_at timestamptz(3) NOT NULL DEFAULT now(),
        problem text,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query(`
      CREATE UNIQUE INDEX evaluations_judge ON evaluations (judge_run_id) WHERE judge_run_id IS NOT NULL`);
    await runner.query(`
      CREATE INDEX evaluations_waiting ON evaluations (dispatch_at, id) WHERE judge_run_id IS NULL AND problem IS NULL`);

    await runner.query(`
      CREATE TABLE evaluation_scores (
        evaluation_id uuid NOT NULL REFERENCES evaluations ON DELETE CASCADE,
        scorer_id integer NOT NULL,
        scorer_name text NOT NULL,
        rubric text NOT NULL,
        labels jsonb NOT NULL,
        passing_score double precision NOT NULL,
        run_id uuid NOT NULL,
        sampled boolean NOT NULL,
        agent_uid uuid NOT NULL,
        model_id text,
        skill_spec text,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        reported_at timestamptz(3),
        failed boolean NOT NULL DEFAULT false,
        classification text,
        score double precision,
        passed boolean,
        reason text,
        PRIMARY KEY (evaluation_id, scorer_id)
      )`);
    // A scorer grades a run by itself once, however often the run ends and however many replicas see it.
    await runner.query(`
      CREATE UNIQUE INDEX evaluation_scores_sampled_once ON evaluation_scores (run_id, scorer_id) WHERE sampled`);
    await runner.query(`
      CREATE INDEX evaluation_scores_run ON evaluation_scores (run_id, created_at, evaluation_id, scorer_id)`);
    await runner.query(`
      CREATE INDEX evaluation_scores_results ON evaluation_scores (scorer_id, created_at, evaluation_id)
       WHERE reported_at IS NOT NULL`);
    for (const column of ['agent_uid', 'model_id', 'skill_spec']) {
      await runner.query(`
        CREATE INDEX evaluation_scores_results_${column} ON evaluation_scores (scorer_id, ${column}, created_at, evaluation_id)
         WHERE reported_at IS NOT NULL`);
    }

    await runner.query(`ALTER TABLE run_executions ADD COLUMN end_handled_at timestamptz(3)`);
    // What ended before there were scorers is nobody's business.
    await runner.query(`UPDATE run_executions SET end_handled_at = now() WHERE ended_at IS NOT NULL`);
    await runner.query(`
      CREATE INDEX run_executions_unhandled_end ON run_executions (id)
       WHERE ended_at IS NOT NULL AND end_handled_at IS NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX run_executions_unhandled_end`);
    await runner.query(`ALTER TABLE run_executions DROP COLUMN end_handled_at`);
    await runner.query(`DROP TABLE evaluation_scores, evaluations, scorers`);
  }
}
