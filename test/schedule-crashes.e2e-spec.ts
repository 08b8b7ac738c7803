import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { firstTeam } from './support/identities.js';
import { scaled } from './support/soak.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';

const REPLICA = fileURLToPath(new URL('./support/scheduler-replica.mjs', import.meta.url));
const SCHEDULES = 1000;
const REPLICAS = 3;
const MINUTES = scaled(5, 60);
const START = Date.parse('2027-05-04T08:00:00Z');
const MINUTE = 60_000;

let server: TestApp;
const replicas = new Map<string, ChildProcess>();

beforeAll(async () => {
  // This one neither fires nor executes: it answers the API, and holds the database.
  server = await startTestApp({ ROLES: 'api' });
});
afterAll(async () => {
  for (const replica of replicas.values()) replica.kill('SIGKILL');
  await server.close();
});

/** @param name what its connections to the database are called */
async function startReplica(name: string): Promise<void> {
  const url = new URL(server.databaseUrl);
  url.searchParams.set('application_name', name);
  const { PATH = '', HOME = '' } = process.env;
  const replica = fork(REPLICA, {
    env: { PATH, HOME, DATABASE_URL: url.href, DATA_DIR: server.dataDir },
    execArgv: [],
  });
  replicas.set(name, replica);
  await once(replica, 'message');
}

async function killReplica(name: string): Promise<void> {
  const replica = replicas.get(name);
  if (replica === undefined) throw new Error(`there is no ${name}`);
  replicas.delete(name);
  const exit = once(replica, 'exit');
  replica.kill('SIGKILL');
  await exit;
}

const query = <Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
  server.dataSource.query<Row[]>(sql, parameters);

/** A replica that has claimed triggers in a transaction which is still open; any one when the minute was over too soon to see that. */
const firingReplica = (minute: number): Promise<string> =>
  eventually(async () => {
    const isOver = (await countDecided(minute)) === SCHEDULES;
    const [row] = await query<{ name: string }>(
      `SELECT a.application_name AS name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.relation = 'cron_triggers'::regclass AND l.mode = 'RowShareLock' AND a.application_name LIKE 'replica-%'
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return row?.name ?? (isOver ? [...replicas.keys()][0] : undefined);
  });

const countDecided = async (minute: number): Promise<number> => {
  const [row] = await query<{ count: number }>(
    'SELECT count(*)::int AS count FROM cron_ticks WHERE tick_at = $1',
    [new Date(START + minute * MINUTE)],
  );
  return row?.count ?? 0;
};

describe(`${String(SCHEDULES)} schedules every minute, ${String(REPLICAS)} processes`, () => {
  it(
    `fire each tick once, though one process is killed in each of ${String(MINUTES)} minutes`,
    async () => {
      await query('CREATE TABLE test_clock AS SELECT $1::timestamptz AS now', [new Date(START)]);
      await query(
        `WITH schedule AS (
           INSERT INTO schedules (id, team_uid, name, prompt, created_by, updated_by)
           SELECT gen_random_uuid(), $1, 'Schedule ' || n, 'Go', gen_random_uuid(), gen_random_uuid()
             FROM generate_series(1, $2) AS n RETURNING id
         )
         INSERT INTO cron_triggers (id, kind, cron, timezone, anchor_at, catch_up_minutes, enabled, next_tick_at, reckoned_at)
         SELECT id, 'schedule', '* * * * *', 'UTC', $3, 0, true, $3::timestamptz + interval '1 minute', $3 FROM schedule`,
        [await firstTeam(server.dataSource), SCHEDULES, new Date(START)],
      );
      await Promise.all(
        Array.from({ length: REPLICAS }, (_, index) => startReplica(`replica-${String(index)}`)),
      );
      for (let minute = 1; minute <= MINUTES; minute++) {
        await query('UPDATE test_clock SET now = $1', [new Date(START + minute * MINUTE + 250)]);
        const victim = await firingReplica(minute);
        // Now early in its transaction, now late, and sometimes after it.
        await delay((minute * 37) % 150);
        await killReplica(victim);
        await startReplica(`replica-${String(REPLICAS + minute)}`);
        await eventually(async () => ((await countDecided(minute)) === SCHEDULES ? true : undefined), {
          withinMs: 60_000,
          what: `the firing of minute ${String(minute)}`,
        });
      }

      // No tick more, none less, none but fired, and the run of each is another one and there.
      expect(
        await query(
          `SELECT tick_at, count(*)::int AS ticks, count(DISTINCT trigger_id)::int AS schedules,
                  count(DISTINCT r.id)::int AS runs
             FROM cron_ticks t LEFT JOIN runs r
               ON r.id = t.run_id AND r.schedule_id = t.trigger_id AND t.outcome = 'fired'
            GROUP BY tick_at ORDER BY tick_at`,
        ),
      ).toEqual(
        Array.from({ length: MINUTES }, (_, index) => ({
          tick_at: new Date(START + (index + 1) * MINUTE),
          ticks: SCHEDULES,
          schedules: SCHEDULES,
          runs: SCHEDULES,
        })),
      );
      expect(await query('SELECT count(*)::int AS runs FROM runs')).toEqual([{ runs: SCHEDULES * MINUTES }]);
    },
    scaled(300_000, 3_600_000),
  );
});
