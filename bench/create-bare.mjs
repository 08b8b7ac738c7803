// What bench/create.mjs compares the service with: the least that could be done to create a run. A `node:http` handler that finds the
// key by its prefix, compares its hash, and writes the same rows in one transaction through `pg`. It validates, resolves and logs nothing.
//
// BENCH_DATABASE_URL, BENCH_SHAPE: `statements` (one for each table between BEGIN and COMMIT, as most applications do it) or
// `one` (a single statement, as the service does it).
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import pg from 'pg';
import { v7 } from 'uuid';
import { signatureOf } from '../dist/runs/domain/run-signature.js';

const POOL = 20;

const pool = new pg.Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: POOL });
const write = process.env.BENCH_SHAPE === 'one' ? writeAtOnce : writeByTable;

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    create(request.headers.authorization ?? '', Buffer.concat(chunks)).then(
      ({ status, body }) => {
        const text = JSON.stringify(body);
        response.writeHead(status, {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(text),
        });
        response.end(text);
      },
      (error) => {
        console.error(error.message);
        process.exit(1);
      },
    );
  });
});
server.listen(0, '127.0.0.1', () =>
  process.send({ url: `http://127.0.0.1:${server.address().port}/v1/agent/runs` }),
);
process.once('disconnect', () => process.exit(0));

async function create(authorization, body) {
  const key = authorization.replace(/^Bearer /, '');
  const { rows } = await pool.query({
    name: 'key',
    text: `SELECT k.hash, k.user_uid, m.team_uid FROM api_keys k JOIN memberships m ON m.user_uid = k.user_uid WHERE k.prefix = $1`,
    values: [key.slice(0, 11)],
  });
  const hash = createHash('sha256').update(key).digest();
  const caller = rows.find((row) => timingSafeEqual(row.hash, hash));
  if (caller === undefined) return { status: 401, body: {} };
  const { prompt, title } = JSON.parse(body);
  const id = v7();
  const words = [...new Set(`${title} ${prompt}`.toLowerCase().split(/[^a-z0-9]+/))];
  const day = new Date().toISOString().slice(0, 10);
  const facets = [
    `scope:${caller.team_uid}`,
    `creator:${caller.user_uid}`,
    `executor:${caller.user_uid}`,
    'source:API',
    'location:REMOTE',
    'environment:empty-environment',
    'model:script',
    `day:${day}`,
    `month:${day.slice(0, 7)}`,
  ];
  const config = JSON.stringify({ harness: { type: 'oz' }, model_id: 'script' });
  const signature = signatureOf([...facets, ...words]);
  await write({ id, caller, prompt, title, words, facets, signature, config });
  return { status: 200, body: { run_id: id, task_id: id, state: 'QUEUED' } };
}

const RUN = `INSERT INTO runs (id, title, state, team_uid, creator_uid, executor_uid, source, model_id)
  VALUES ($1, $2, 'QUEUED', $3, $4, $4, 'API', 'script')`;

async function writeByTable({ id, caller, prompt, title, words, facets, signature, config }) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await run(client, 'run', RUN, [id, title, caller.team_uid, caller.user_uid]);
    await run(client, 'definition', 'INSERT INTO run_definitions VALUES ($1, $2, $3)', [id, prompt, config]);
    await run(client, 'search', `INSERT INTO run_search VALUES ($1, $2, now(), $3, '', $4, $5, $6)`, [
      id,
      caller.team_uid,
      title,
      facets,
      words,
      signature,
    ]);
    await run(
      client,
      'words',
      `INSERT INTO run_words SELECT $1, word FROM unnest($2::text[]) word ORDER BY word COLLATE "C" ON CONFLICT DO NOTHING`,
      [caller.team_uid, words],
    );
    await run(
      client,
      'event',
      `INSERT INTO run_timeline_events (event_uuid, run_id, event_type, payload) VALUES ($1, $2, 'oz_run_created', '{"source": "API"}')`,
      [randomUUID(), id],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

async function writeAtOnce({ id, caller, prompt, title, words, facets, signature, config }) {
  await run(
    pool,
    'all',
    `WITH run AS (${RUN}), definition AS (INSERT INTO run_definitions VALUES ($1, $5, $6)),
          search AS (INSERT INTO run_search VALUES ($1, $3, now(), $2, '', $7, $8, $10)),
          words AS (INSERT INTO run_words SELECT $3, word FROM unnest($8::text[]) word ORDER BY word COLLATE "C" ON CONFLICT DO NOTHING)
     INSERT INTO run_timeline_events (event_uuid, run_id, event_type, payload) VALUES ($9, $1, 'oz_run_created', '{"source": "API"}')`,
    [id, title, caller.team_uid, caller.user_uid, prompt, config, facets, words, randomUUID(), signature],
  );
}

/** Prepared once on each connection. */
const run = (client, name, text, values) => client.query({ name, text, values });
