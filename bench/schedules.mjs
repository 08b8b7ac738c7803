// `npm run bench:schedules`: what firing costs with many schedules stored. One replica on an embedded PostgreSQL with fsync on; the clock
// is the database's. Of the stored ones some are due at once, all on one tick; they come from many teams, with and without an environment
// and an agent of their own. Prints the time to fire all, and the cost of a look when nothing is due.
//
// --stored N (default 100000)  --due N (default 10000)  --looks N (default 500)
// Ends with exit code 1 when the due ones take longer than the goal, or not each has made one run.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

const GOAL_SECONDS = 20;
const TEAMS = 200;

const { values } = parseArgs({
  options: {
    stored: { type: 'string', default: '100000' },
    due: { type: 'string', default: '10000' },
    looks: { type: 'string', default: '500' },
  },
});
const [stored, due, looks] = [values.stored, values.due, values.looks].map(Number);

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);
const { parseConfig } = await import('../dist/config/parse-config.js');
const { createApp } = await import('../dist/create-app.js');
const { createDataSource } = await import('../dist/database/data-source.js');
const { startEmbeddedPostgres } = await import('../dist/database/embedded-postgres.js');
const { migrate } = await import('../dist/database/migrate.js');
const { SystemClock } = await import('../dist/kernel/clock.js');
const { DatabaseUrl } = await import('../dist/kernel/persistence/database-url.js');
const { FireTriggers } = await import('../dist/schedules/index.js');

const dataDir = mkdtempSync(join(tmpdir(), 'millwright-bench-'));
chmodSync(dataDir, 0o711); // as root the database runs under another account
const postgres = await startEmbeddedPostgres({ dataDir, database: 'millwright', log: () => undefined });
await migrate(postgres.url);
const dataSource = await createDataSource({ url: postgres.url }).initialize();
const app = await createApp({
  // No role: it fires when it is told to.
  config: parseConfig({ DATA_DIR: dataDir, ROLES: 'api', LOG_LEVEL: 'warn' }),
  databaseUrl: new DatabaseUrl(postgres.url),
  dataSource,
  encryptionKey: Buffer.alloc(32),
  clock: new SystemClock(),
});
await app.init();

try {
  await store();
  console.log(`${stored} schedules of ${TEAMS} teams stored, ${due} of them due`);
  const fireTriggers = app.get(FireTriggers);
  const idleBefore = process.cpuUsage();
  const begin = performance.now();
  const fired = await fireTriggers.fireDue();
  const seconds = (performance.now() - begin) / 1000;
  const cpu = process.cpuUsage(idleBefore);
  const [row] = await dataSource.query(
    `SELECT count(*)::int AS ticks, count(DISTINCT r.id)::int AS runs
       FROM cron_ticks t JOIN runs r ON r.id = t.run_id AND t.outcome = 'fired'`,
  );
  console.log(
    `fired ${fired} in ${seconds.toFixed(2)} s (${Math.round(fired / seconds)} a second, ${((cpu.user + cpu.system) / 1e6).toFixed(2)} s of CPU in the service); ${row.runs} runs`,
  );

  const times = [];
  for (let look = 0; look < looks; look += 1) {
    const start = performance.now();
    await fireTriggers.fireDue();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  console.log(
    `a look with nothing due: median ${times[Math.floor(looks / 2)].toFixed(2)} ms, p99 ${times[Math.floor(looks * 0.99)].toFixed(2)} ms`,
  );
  const isWhole = fired === due && row.ticks === due && row.runs === due;
  if (!isWhole || seconds > GOAL_SECONDS) {
    console.log(`Short of the goal: ${due} in ${GOAL_SECONDS} s, one run each`);
    process.exitCode = 1;
  }
} finally {
  await app.close();
  await dataSource.destroy();
  await postgres.stop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

async function store() {
  await dataSource.query(
    `WITH team AS (
       INSERT INTO teams (uid, name) SELECT gen_random_uuid(), 'Team ' || n FROM generate_series(1, $1::int) AS n RETURNING uid
     ), agent AS (
       INSERT INTO agents (uid, team_uid, name, is_default) SELECT gen_random_uuid(), uid, 'Default agent', true FROM team
     )
     INSERT INTO environments (uid, team_uid, name, config, creator_uid, last_editor_uid)
     SELECT substr(md5(uid::text), 1, 22), uid, 'Shop', '{"name": "Shop"}', gen_random_uuid(), gen_random_uuid() FROM team`,
    [TEAMS],
  );
  await dataSource.query(
    `WITH place AS (
       SELECT row_number() OVER (ORDER BY e.uid) - 1 AS n, e.team_uid, e.uid AS environment, a.uid AS agent
         FROM environments e JOIN agents a USING (team_uid)
     ), schedule AS (
       INSERT INTO schedules (id, team_uid, name, prompt, agent_uid, agent_config, metadata, created_by, updated_by)
       SELECT gen_random_uuid(), team_uid, 'Schedule ' || s.n, 'Review what was merged since the last run and say what is risky',
              CASE WHEN s.n % 3 = 0 THEN agent END,
              CASE WHEN s.n % 2 = 0 THEN jsonb_build_object('name', 'nightly', 'environment_id', environment) END,
              '{"ticket": "OPS-1142"}', gen_random_uuid(), gen_random_uuid()
         FROM generate_series(1, $1::int) AS s (n) JOIN place ON place.n = s.n % $2
       RETURNING id
     )
     INSERT INTO cron_triggers (id, kind, cron, timezone, anchor_at, catch_up_minutes, enabled, next_tick_at, reckoned_at)
     SELECT id, 'schedule', extract(minute FROM tick) || ' ' || extract(hour FROM tick) || ' * * *',
            'UTC', now(), 60, true, CASE WHEN n <= $3 THEN tick ELSE tick + interval '1 day' END, now()
       FROM (SELECT id, row_number() OVER () AS n, date_trunc('minute', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS tick
               FROM schedule) AS numbered`,
    [stored, TEAMS, due],
  );
  await dataSource.query('ANALYZE');
}
