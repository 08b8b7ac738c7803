import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lists by title and by skill are filtered within their indexes. */
export class RunSignatures1763683200021 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Runs of before have every bit, which says that they may match whatever is asked for.
    await runner.query(`
      ALTER TABLE run_search ADD COLUMN signature bytea NOT NULL DEFAULT decode(repeat('ff', 64), 'hex')`);
    await runner.query(`ALTER TABLE run_search ALTER COLUMN signature DROP DEFAULT`);
    await runner.query(`DROP INDEX run_search_created, run_search_title, run_search_agent`);
    for (const order of ['created_at', 'title', 'agent']) {
      await runner.query(`
        CREATE INDEX run_search_${order.replace('_at', '')} ON run_search (scope_uid, ${order}, run_id) INCLUDE (signature)`);
    }
    // Those that have succeeded are most of them, and found in the order of all runs: their index would be paid for in vain.
    for (const owner of ['team', 'owner']) {
      await runner.query(`
        CREATE INDEX runs_${owner}_state_title ON runs (${owner}_uid, state, (left(title, 200)) COLLATE "C", id)
        WHERE ${owner}_uid IS NOT NULL AND state <> 'SUCCEEDED'`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX runs_owner_state_title, runs_team_state_title`);
    await runner.query(`DROP INDEX run_search_agent, run_search_title, run_search_created`);
    await runner.query(`CREATE INDEX run_search_created ON run_search (scope_uid, created_at, run_id)`);
    await runner.query(`CREATE INDEX run_search_title ON run_search (scope_uid, title, run_id)`);
    await runner.query(`CREATE INDEX run_search_agent ON run_search (scope_uid, agent, run_id)`);
    await runner.query(`ALTER TABLE run_search DROP COLUMN signature`);
  }
}
