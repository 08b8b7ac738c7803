// `npm run bench:runs`: how fast lists of runs are. Fills one team's runs into an embedded PostgreSQL in a temporary directory, asks the
// service for lists over HTTP, in turn, and says what falls short of the goals. The service and the client share this process.
//
// --rows N[,N…] (default 1000000,100000)  --samples N (requests of each kind, default 100)  --only TEXT (kinds whose name has it)
// --data DIR (kept, and used again when it is filled)
// Ends with exit code 1 when a goal is missed.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { ensureBuild, ensureDependencies, ensureNode } from '../scripts/lib/ensure.mjs';

const GOAL_MS = 25;
const GOAL_WIDE_MS = 300;
const GOAL_PAGE_500 = 1.5;
const GOAL_GROWTH = 1.5;
const GOAL_CHANGES = 0.6;
/** Below this a ratio says more of the machine than of the plan. */
const NOISE_MS = 4;

const DAY = 86_400_000;
const KEY = 'wk-bench-key-0123456789abcdefghijklmnopqrstuv';
const BATCH = 5_000;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000,100000' },
    samples: { type: 'string', default: '100' },
    only: { type: 'string' },
    data: { type: 'string' },
  },
});
const samples = Number(values.samples);

ensureNode();
await ensureDependencies(console.log);
await ensureBuild(console.log);
const { parseConfig } = await import('../dist/config/parse-config.js');
const { Service } = await import('../dist/service.js');
const { searchInput } = await import('../dist/runs/persistence/run-search.js');

const shortfalls = [];
const measured = new Map();

async function measureAll(rows) {
  const dataDir = values.data ?? mkdtempSync(join(tmpdir(), 'millwright-bench-runs-'));
  mkdirSync(dataDir, { recursive: true });
  chmodSync(dataDir, 0o711); // as root the database runs under another account
  const port = await freePort();
  const service = new Service(
    parseConfig({
      DATA_DIR: dataDir,
      PORT: String(port),
      BOOTSTRAP_API_KEY: KEY,
      ROLES: 'api',
      WORKER_SLOTS: '0',
      LOG_LEVEL: 'error',
      API_REQUESTS_PER_MINUTE: '0',
    }),
    () => undefined,
  );
  await service.start();
  const database = new pg.Client({ connectionString: service.embedded.url });
  await database.connect();
  try {
    const filled = join(dataDir, 'filled');
    if (!existsSync(filled)) {
      await fill(database, rows);
      writeFileSync(filled, '');
    }
    await measureLists(database, `http://127.0.0.1:${port}/v1/agent/runs`, rows);
    await measureChanges(database, service.embedded.url, values.data !== undefined);
  } finally {
    await database.end();
    await service.stop();
    if (values.data === undefined)
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

// ---- the runs

function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Few of them often, most of them seldom. */
function skewed(random, items, power = 3) {
  return items[Math.floor(items.length * random() ** power)];
}

function weighted(random, table) {
  let left = random() * Object.values(table).reduce((sum, weight) => sum + weight, 0);
  for (const [value, weight] of Object.entries(table)) if ((left -= weight) < 0) return value;
  return Object.keys(table)[0];
}

function uuid(kind, n) {
  return `${kind.toString(16).padStart(8, '0')}-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

const many = (count, make) => Array.from({ length: count }, (_, n) => make(n));
const CREATORS = many(60, (n) => uuid(1, n));
const EXECUTORS = many(30, (n) => uuid(2, n));
const SCHEDULES = many(150, (n) => uuid(3, n));
const PARENTS = many(400, (n) => uuid(4, n));
const HUGE_PARENT = uuid(5, 0);
const ENVIRONMENTS = many(40, (n) => `env${String(n).padStart(19, '0')}`);
const SKILLS = many(80, (n) => `acme/repo${n % 9}:.agents/skills/skill-${n}/SKILL.md`);
const NAMES = many(25, (n) => `config-${n}`);
const MODELS = many(8, (n) => `model-${n}`);
const SYLLABLES = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu tra ste pli con ver'.split(
  ' ',
);
const VOCABULARY = (() => {
  const random = generator(7);
  return many(20_000, () => many(2 + Math.floor(random() * 3), () => skewed(random, SYLLABLES, 1)).join(''));
})();
const SOURCES = {
  API: 40,
  SCHEDULED_AGENT: 25,
  WEBHOOK: 15,
  LINEAR: 8,
  SLACK: 6,
  CLI: 4,
  LOCAL: 1.5,
  AUTOFIX: 0.4,
  JIRA: 0.1,
};
const STATES = {
  SUCCEEDED: 80,
  FAILED: 10,
  ERROR: 4.6,
  CANCELLED: 5,
  BLOCKED: 0.3,
  INPROGRESS: 0.05,
  QUEUED: 0.05,
};

async function fill(database, rows) {
  const random = generator(rows);
  const began = performance.now();
  const {
    rows: [{ uid: team }],
  } = await database.query('SELECT uid FROM teams ORDER BY created_at LIMIT 1');
  const {
    rows: [{ uid: admin }],
  } = await database.query('SELECT uid FROM users ORDER BY created_at LIMIT 1');
  const { rows: indexes } = await database.query(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename IN ('runs', 'run_search', 'run_words') AND indexname NOT LIKE '%_pkey'`,
  );
  for (const { indexname } of indexes) await database.query(`DROP INDEX ${indexname}`);
  await database.query('SET synchronous_commit = off');
  const lexicon = new Set();
  const now = Date.now();
  for (let start = 0; start < rows; start += BATCH) {
    const batch = many(Math.min(BATCH, rows - start), (n) =>
      aRun(random, start + n, rows, { team, admin, now, lexicon }),
    );
    await database.query(
      `WITH i AS (
         SELECT * FROM jsonb_to_recordset($1::jsonb) AS i (
           id uuid, title text, prompt text, state text, team_uid uuid, owner_uid uuid, creator_uid uuid, executor_uid uuid,
           source text, environment_id text, skill_spec text, config_name text, model_id text, schedule_id uuid,
           ancestor_ids uuid[], metadata jsonb, created_at timestamptz, updated_at timestamptz, facets text[], words text[], signature bytea)
       ), r AS (
         INSERT INTO runs (id, title, state, team_uid, owner_uid, creator_uid, executor_uid, source, environment_id, skill_spec,
                           config_name, model_id, schedule_id, ancestor_ids, metadata, created_at, updated_at)
         SELECT id, title, state, team_uid, owner_uid, creator_uid, executor_uid, source, environment_id, skill_spec,
                config_name, model_id, schedule_id, ancestor_ids, metadata, created_at, updated_at FROM i
       ), d AS (
         INSERT INTO run_definitions SELECT id, prompt, '{"model_id":"script"}' FROM i
       )
       INSERT INTO run_search
       SELECT id, coalesce(team_uid, owner_uid), created_at, left(title, 200), coalesce(skill_spec, ''), facets, words, signature FROM i`,
      [JSON.stringify(batch)],
    );
  }
  for (const uid of [team, admin]) {
    await database.query('INSERT INTO run_words SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING', [
      uid,
      [...lexicon],
    ]);
  }
  await database.query(`SET maintenance_work_mem = '512MB'`);
  for (const { indexdef } of indexes) await database.query(indexdef);
  await database.query('VACUUM ANALYZE');
  await database.query('CHECKPOINT');
  console.log(`\n${rows} runs, filled in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

function aRun(random, n, rows, { team, admin, now, lexicon }) {
  const personal = random() < 0.05;
  const created = now - 365 * DAY + (n / rows) * 365 * DAY;
  const lasts = random() < 0.03 ? random() * 30 * DAY : -Math.log(1 - random()) * 600_000;
  const source = weighted(random, SOURCES);
  const text = (count) => many(count, () => skewed(random, VOCABULARY, 3)).join(' ');
  const special = [
    [0.3, 'fix'],
    [0.01, 'pagination'],
    [0.003, 'kubernetes'],
    [0.0005, 'ci'],
    [20 / rows, 'flamingo'],
  ].flatMap(([share, word]) => (random() < share ? [word] : []));
  const run = {
    id: uuid(0x01900000 + Math.floor(n / 65_536), n),
    title: [text(4), ...special].join(' '),
    prompt: text(30 + Math.floor(random() * 40)),
    state: weighted(random, STATES),
    team_uid: personal ? null : team,
    owner_uid: personal ? admin : null,
    creator_uid: skewed(random, CREATORS),
    executor_uid: skewed(random, EXECUTORS),
    source,
    environment_id: random() < 0.1 ? null : skewed(random, ENVIRONMENTS),
    skill_spec: random() < 0.6 ? null : skewed(random, SKILLS),
    config_name: random() < 0.5 ? null : skewed(random, NAMES),
    model_id: skewed(random, MODELS),
    schedule_id: source === 'SCHEDULED_AGENT' ? skewed(random, SCHEDULES) : null,
    ancestor_ids: random() < 0.02 ? [HUGE_PARENT] : random() < 0.03 ? [skewed(random, PARENTS)] : [],
    metadata: {
      env: weighted(random, { prod: 10, staging: 30, dev: 60 }),
      ticket: `OPS-${Math.floor((random() * rows) / 5)}`,
    },
    created_at: new Date(created),
    // Of those that last longer than until now the last change was some time ago.
    updated_at: new Date(created + lasts < now ? created + lasts : created + random() * (now - created)),
  };
  const day = run.created_at.toISOString().slice(0, 10);
  const { facets, words, signature, lexicon: known } = searchInput(run);
  for (const word of known) lexicon.add(word);
  return { ...run, facets: [...facets, `day:${day}`, `month:${day.slice(0, 7)}`], words, signature };
}

// ---- the lists

function kinds() {
  const daysAgo = (days) => new Date(Date.now() - days * DAY).toISOString();
  const range = (from, to) => `created_after=${daysAgo(from)}&created_before=${daysAgo(to)}`;
  const list = [];
  for (const sort of ['updated_at', 'created_at', 'title', 'agent']) {
    for (const order of ['desc', 'asc'])
      list.push([`${sort} ${order}`, `sort_by=${sort}&sort_order=${order}`]);
  }
  const filters = {
    'state common': 'state=SUCCEEDED',
    'state rare': 'state=QUEUED',
    states: 'state=BLOCKED&state=INPROGRESS',
    name: 'name=config-3',
    'name rare': 'name=config-24',
    model: 'model_id=model-7',
    'creator common': `creator=${CREATORS[0]}`,
    'creator rare': `creator=${CREATORS[59]}`,
    executor: `executor=${EXECUTORS[29]}`,
    'source common': 'source=API',
    'source rare': 'source=JIRA',
    location: 'execution_location=LOCAL',
    environment: `environment_id=${ENVIRONMENTS[30]}`,
    'no environment': 'environment_id=empty-environment',
    skill: `skill=${SKILLS[60]}`,
    schedule: `schedule_id=${SCHEDULES[140]}`,
    'ancestor huge': `ancestor_run_id=${HUGE_PARENT}`,
    ancestor: `ancestor_run_id=${PARENTS[300]}`,
    'metadata common': 'metadata[env]=prod',
    'metadata rare': 'metadata[ticket]=OPS-77',
    'artifact (none)': 'artifact_type=PLAN',
    'created wide': range(300, 60),
    'created narrow': range(101, 100),
    'created before': `created_before=${daysAgo(200)}`,
    'updated after': `updated_after=${daysAgo(30)}`,
    'q common': 'q=fix',
    'q 1%': 'q=pagination',
    'q rare': 'q=flamingo',
    'q misspelt': 'q=kubernetis',
    'q misspelt rare': 'q=flamngo',
    'q two characters': 'q=ci',
    'q two words': 'q=fix%20pagnation',
    'q unknown': 'q=qqqqqqqqq',
  };
  for (const [name, query] of Object.entries(filters)) {
    list.push([name, query], [`${name}, by title`, `${query}&sort_by=title&sort_order=asc`]);
  }
  const combinations = {
    'failed of a creator': `state=FAILED&creator=${CREATORS[40]}`,
    'blocked in an environment': `state=BLOCKED&environment_id=${ENVIRONMENTS[5]}`,
    'errors of a schedule': `state=ERROR&state=FAILED&schedule_id=${SCHEDULES[100]}`,
    'skill in production': `skill=${SKILLS[30]}&metadata[env]=prod`,
    'recent of a source': `source=SLACK&updated_after=${daysAgo(7)}`,
    'two pairs': 'metadata[env]=prod&metadata[ticket]=OPS-99',
    'search of a creator': `q=pagnation&creator=${CREATORS[20]}`,
    'search in an environment': `q=fix&environment_id=${ENVIRONMENTS[39]}`,
    'descendants that failed': `ancestor_run_id=${HUGE_PARENT}&state=FAILED`,
    'by model, created first': `model_id=model-6&executor=${EXECUTORS[20]}&sort_by=created_at&sort_order=asc`,
  };
  for (const [name, query] of Object.entries(combinations)) list.push([name, query]);
  list.push(
    ['wide range + rare', `${range(300, 60)}&environment_id=${ENVIRONMENTS[30]}`, GOAL_WIDE_MS],
    ['wide range + common', `${range(300, 60)}&source=WEBHOOK`, GOAL_WIDE_MS],
    ['wide range + state', `${range(300, 60)}&state=BLOCKED`, GOAL_WIDE_MS],
    ['wide range + search', `${range(300, 60)}&q=kubernetis`, GOAL_WIDE_MS],
  );
  return list.filter(([name]) => values.only === undefined || name.includes(values.only));
}

async function measureLists(database, base, rows) {
  await insertParents(database);
  console.log(`\n${rows} runs, ${samples} requests each\n`);
  console.log(`${'list'.padEnd(34)} rows   p50 ms   p99 ms  | 500: p50 ms   p99 ms`);
  for (const [name, query, goal = GOAL_MS] of kinds()) {
    const page = await measure(`${base}?${query}&limit=20`);
    const large = await measure(`${base}?${query}&limit=500`, Math.ceil(samples / 8));
    const short = page.p99 > goal ? '  <' : '';
    console.log(
      `${name.padEnd(34)} ${String(page.rows).padStart(4)} ${ms(page.p50)} ${ms(page.p99)}  |     ${ms(large.p50)} ${ms(large.p99)}${short}`,
    );
    if (page.p99 > goal) shortfalls.push(`${rows}, ${name}: p99 ${page.p99.toFixed(1)} ms, goal ${goal} ms`);
    compareSizes(name, rows, page.p50);
  }
  for (const [name, query] of kinds().slice(0, 8)) {
    if (values.only !== undefined) break;
    await measureDepth(name, `${base}?${query}&limit=20`, rows);
  }
}

function compareSizes(name, rows, p50) {
  const other = measured.get(name);
  measured.set(name, { rows, p50 });
  if (other === undefined) return;
  const [small, large] = other.rows < rows ? [other.p50, p50] : [p50, other.p50];
  if (large > GOAL_GROWTH * Math.max(small, NOISE_MS)) {
    shortfalls.push(
      `${name}: p50 ${small.toFixed(1)} ms grows to ${large.toFixed(1)} ms, goal at most ${GOAL_GROWTH} times`,
    );
  }
}

/** Parents are looked up before their descendants. */
async function insertParents(database) {
  await database.query(
    `INSERT INTO runs (id, title, state, team_uid, creator_uid, executor_uid, source, created_at, updated_at)
     SELECT id, 'parent', 'SUCCEEDED', (SELECT uid FROM teams ORDER BY created_at LIMIT 1), id, id, 'API', now() - interval '1 year', now() - interval '1 year'
       FROM unnest($1::uuid[]) id ON CONFLICT DO NOTHING`,
    [[...PARENTS, HUGE_PARENT]],
  );
  await database.query(
    `INSERT INTO run_definitions SELECT unnest($1::uuid[]), '', '{}' ON CONFLICT DO NOTHING`,
    [[...PARENTS, HUGE_PARENT]],
  );
}

async function measureDepth(name, url, rows) {
  const first = [];
  const deep = [];
  let cursor;
  for (let page = 1; page <= 510; page += 1) {
    const address = cursor === undefined ? url : `${url}&cursor=${cursor}`;
    const { body } = await get(address);
    // Of either the second request counts: the rows of both have been read before.
    if (page <= 10) first.push((await get(url)).took);
    if (page >= 491) deep.push((await get(address)).took);
    cursor = body.page_info.next_cursor;
    if (cursor === undefined) return;
  }
  const [near, far] = [percentile(first, 50), percentile(deep, 50)];
  const ratio = far / Math.max(near, 1);
  console.log(`${`${name}, page 1 and 500`.padEnd(39)} ${ms(near)} ${ms(far)}  ratio ${ratio.toFixed(2)}`);
  if (ratio > GOAL_PAGE_500 && far > NOISE_MS)
    shortfalls.push(`${rows}, ${name}: page 500 takes ${ratio.toFixed(2)} times page 1`);
}

async function measure(url, count = samples) {
  await get(url);
  const times = [];
  let rows = 0;
  for (let n = 0; n < count; n += 1) {
    const { body, took } = await get(url);
    times.push(took);
    rows = body.runs.length;
  }
  return { rows, p50: percentile(times, 50), p99: percentile(times, 99) };
}

// ---- the changes

/** State changes a second with all indexes, over those with the primary key and one index for each sort. */
async function measureChanges(database, url, kept) {
  if (kept || values.only !== undefined) return;
  const all = await changeRate(database, url);
  const { rows: indexes } = await database.query(
    `SELECT indexname FROM pg_indexes WHERE tablename = 'runs' AND indexname NOT IN ('runs_pkey', 'runs_team_updated', 'runs_owner_updated')`,
  );
  for (const { indexname } of indexes) await database.query(`DROP INDEX ${indexname}`);
  for (const key of ['created_at', 'left(title, 200)', `coalesce(skill_spec, '')`]) {
    await database.query(`CREATE INDEX ON runs (team_uid, (${key}), id) WHERE team_uid IS NOT NULL`);
    await database.query(`CREATE INDEX ON runs (owner_uid, (${key}), id) WHERE owner_uid IS NOT NULL`);
  }
  const few = await changeRate(database, url);
  const ratio = all / few;
  console.log(
    `\nstate changes a second: ${all.toFixed(0)} with all indexes, ${few.toFixed(0)} with those of the sorts alone: ratio ${ratio.toFixed(2)}`,
  );
  if (ratio < GOAL_CHANGES) shortfalls.push(`state changes: ratio ${ratio.toFixed(2)}, goal ${GOAL_CHANGES}`);
}

async function changeRate(database, url, seconds = 6) {
  const { rows } = await database.query('SELECT id FROM runs TABLESAMPLE bernoulli (20) LIMIT 50000');
  await database.query('CHECKPOINT');
  const clients = many(4, () => new pg.Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  await Promise.all(clients.map((client) => client.query('SET synchronous_commit = off')));
  const random = generator(1);
  const states = Object.keys(STATES);
  const end = performance.now() + seconds * 1000;
  let changes = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < end) {
        await client.query({
          name: 'change',
          text: `UPDATE runs SET state = $2, updated_at = now() WHERE id = $1`,
          values: [skewed(random, rows, 1).id, skewed(random, states, 1)],
        });
        changes += 1;
      }
    }),
  );
  await Promise.all(clients.map((client) => client.end()));
  return changes / seconds;
}

// ---- tools

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function get(url) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    http
      .get(url, { agent, headers: { authorization: `Bearer ${KEY}` } }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const took = performance.now() - began;
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) resolve({ body: JSON.parse(text), took });
          else reject(new Error(`${url}: ${response.statusCode} ${text}`));
        });
      })
      .on('error', reject);
  });
}

function percentile(times, percent) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)];
}

function ms(time) {
  return time.toFixed(1).padStart(8);
}

/** A port that nothing listens on just now. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// ---- all of it, now that everything above is defined

for (const rows of values.rows.split(',').map(Number)) await measureAll(rows);
process.exitCode = shortfalls.length > 0 ? 1 : 0;
console.log(
  shortfalls.length === 0 ? '\nAll goals are reached.' : `\nFalls short:\n  ${shortfalls.join('\n  ')}`,
);
process.exit();
