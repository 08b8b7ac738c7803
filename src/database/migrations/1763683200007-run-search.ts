import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RunSearch1763683200007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // A trusted extension: the owner of the database may create it. Whoever is not its owner is refused here (42501) until the
    // owner has created it.
    await runner.query(`CREATE EXTENSION IF NOT EXISTS pg_trgm`);
    // What a list is filtered and sorted by and never changes, in a row that state changes do not touch: rewriting it would write its
    // GIN index anew, which costs more than all else of a state change.
    await runner.query(`
      CREATE TABLE run_search (
        run_id uuid PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
        scope_uid uuid NOT NULL,
        created_at timestamptz(3) NOT NULL,
        title text COLLATE "C" NOT NULL,
        agent text COLLATE "C" NOT NULL,
        facets text[] COLLATE "C" NOT NULL,
        words text[] COLLATE "C" NOT NULL
      )`);
    await runner.query(`
      CREATE TABLE run_words (
        scope_uid uuid,
        word text COLLATE "C",
        PRIMARY KEY (scope_uid, word)
      )`);
    // Runs of before: what TypeScript makes of their texts is done more coarsely here.
    await runner.query(`
      INSERT INTO run_search (run_id, scope_uid, created_at, title, agent, facets, words)
      SELECT r.id, coalesce(r.team_uid, r.owner_uid), r.created_at, left(r.title, 200), coalesce(r.skill_spec, ''),
             array_remove(ARRAY[
               'scope:' || coalesce(r.team_uid, r.owner_uid), 'creator:' || r.creator_uid, 'executor:' || r.executor_uid,
               'source:' || r.source, 'location:' || CASE r.source WHEN 'LOCAL' THEN 'LOCAL' ELSE 'REMOTE' END,
               'environment:' || coalesce(r.environment_id, 'empty-environment'), 'skill:' || r.skill_spec,
               'schedule:' || r.schedule_id, 'name:' || r.config_name, 'model:' || r.model_id,
               'day:' || to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
               'month:' || to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM')], NULL)
             || ARRAY(SELECT 'ancestor:' || id FROM unnest(r.ancestor_ids) id)
             || ARRAY(SELECT 'metadata:' || key || '=' || value FROM jsonb_each_text(r.metadata)),
             ARRAY(SELECT DISTINCT left(word, 64)
                     FROM regexp_split_to_table(
                       lower(concat_ws(' ', r.title, left(d.prompt, 100000), r.skill_spec)), '[^[:alnum:]]+') word
                    WHERE word <> '' LIMIT 4000)
        FROM runs r JOIN run_definitions d ON d.run_id = r.id`);
    await runner.query(`
      INSERT INTO run_words
      SELECT DISTINCT scope_uid, word FROM run_search, unnest(words) word WHERE length(word) BETWEEN 2 AND 32`);
    await runner.query(`CREATE INDEX run_search_created ON run_search (scope_uid, created_at, run_id)`);
    await runner.query(`CREATE INDEX run_search_title ON run_search (scope_uid, title, run_id)`);
    await runner.query(`CREATE INDEX run_search_agent ON run_search (scope_uid, agent, run_id)`);
    // fastupdate = off: the flush of a pending list would make one insert in thousands wait for up to a second.
    await runner.query(`
      CREATE INDEX run_search_tokens ON run_search USING gin (facets, words) WITH (fastupdate = off)`);
    await runner.query(`
      CREATE INDEX run_words_similar ON run_words USING gin (word gin_trgm_ops) WITH (fastupdate = off)`);
    await runner.query(`
      CREATE INDEX runs_team_state ON runs (team_uid, state, updated_at, id) WHERE team_uid IS NOT NULL`);
    await runner.query(`
      CREATE INDEX runs_owner_state ON runs (owner_uid, state, updated_at, id) WHERE owner_uid IS NOT NULL`);
    // The few runs that changed long after their creation. All others can be looked for close to it.
    await runner.query(`
      CREATE INDEX runs_team_long_lived ON runs (team_uid, updated_at, id, created_at)
      WHERE team_uid IS NOT NULL AND updated_at - created_at > interval '01:00:00'`);
    await runner.query(`
      CREATE INDEX runs_owner_long_lived ON runs (owner_uid, updated_at, id, created_at)
      WHERE owner_uid IS NOT NULL AND updated_at - created_at > interval '01:00:00'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP INDEX runs_owner_long_lived, runs_team_long_lived, runs_owner_state, runs_team_state`,
    );
    await runner.query(`DROP TABLE run_words, run_search`);
  }
}
