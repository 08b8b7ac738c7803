import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { ServiceProcess } from './support/service-process.js';
import { ADMIN_KEY, call, eventually } from './support/test-app.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const SECRET = 'granted-secret-value-4711';
const SECOND_SECRET = 'rotated-secret-value-0815';

let directory: string;
let database: TestDatabase;
let service: ServiceProcess;
/** Everything that answers said, but for the bodies that hand a key or token over once. */
const answers: string[] = [];
/** What must be found nowhere: secrets, keys and tokens of the scenario. */
const confidential = new Map<string, string>([
  ['the secret', SECRET],
  ['the new value of the secret', SECOND_SECRET],
  ["the admin's key", ADMIN_KEY],
]);
let processList = '';

const request = async (
  method: string,
  path: string,
  body?: unknown,
  key = ADMIN_KEY,
): Promise<Record<string, string>> => {
  const answer = await call(`${service.url}/v1${path}`, method, body, { Authorization: `Bearer ${key}` });
  answers.push(JSON.stringify([...answer.headers]));
  const once = answer.body as Record<string, string>;
  for (const field of ['key', 'api_key', 'token', 'link'] as const) {
    const value = once[field];
    if (typeof value === 'string')
      confidential.set(`the ${field} of ${method} ${path}`, value.split('link=').at(-1) ?? '');
  }
  if (!['key', 'api_key', 'token'].some((field) => typeof once[field] === 'string')) {
    answers.push(JSON.stringify(answer.body));
  }
  return once;
};

/** The whole scenario, once: people, keys, an agent with a secret, its run, errors of every kind. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millwright-secrets-'));
  database = await createTestDatabase();
  service = await ServiceProcess.start({
    DATABASE_URL: database.url,
    DATA_DIR: join(directory, 'data'),
    LOG_LEVEL: 'trace',
  });
  await request('POST', '/users', { display_name: 'Ada', email: 'ada@example.com' });
  const { key = '' } = await request('POST', '/api-keys', { name: 'laptop' });
  await request('POST', '/secrets', { name: 'DEPLOY_TOKEN', value: SECRET, team: true });
  await request('PUT', '/secrets/DEPLOY_TOKEN', { value: SECOND_SECRET, team: true });
  await request('PUT', '/secrets/DEPLOY_TOKEN', { value: SECRET, team: true });
  const environment = await request('POST', '/agent/environments', { name: 'Shop' });
  await request('POST', `/agent/environments/${environment.uid ?? ''}/shares`, { kind: 'link' });
  const agent = await request('POST', '/agent/identities', {
    name: 'Deployer',
    secrets: [{ name: 'DEPLOY_TOKEN' }],
  });
  await request('POST', '/api-keys', { name: 'ci', agent_uid: agent.uid });

  // The script shows that it has the secret, and how the machine looks meanwhile.
  const processes = join(directory, 'processes');
  const runKey = join(directory, 'key');
  const script = [
    `echo "$DEPLOY_TOKEN"; echo "$DEPLOY_TOKEN" >&2`,
    `[ "$DEPLOY_TOKEN" = "$(printf 'granted-secret-%s' value-4711)" ] || exit 3`,
    `echo "$WARP_API_KEY" > ${runKey}; ps -eo args > ${processes}`,
  ].join('\n');
  const run = await request('POST', '/agent/runs', {
    prompt: `\`\`\`bash\n${script}\n\`\`\``,
    agent_identity_uid: agent.uid,
  });
  const runId = run.run_id ?? '';
  await eventually(async () => {
    const { state } = await request('GET', `/agent/runs/${runId}`, undefined, key);
    if (state === 'FAILED' || state === 'ERROR') throw new Error(answers.at(-1));
    return state === 'SUCCEEDED' ? true : undefined;
  });
  processList = await readFile(processes, 'utf8');
  confidential.set("the run's own key", (await readFile(runKey, 'utf8')).trim());
  for (const path of ['', '/timeline', '/conversation']) await request('GET', `/agent/runs/${runId}${path}`);
  const transcript = await fetch(`${service.url}/v1/agent/runs/${runId}/transcript`, {
    headers: { Authorization: `Bearer ${ADMIN_KEY}` },
  });
  answers.push(await transcript.text());

  // Errors of every kind, each with something confidential in what was sent.
  await request('POST', '/secrets', { name: 'PATH', value: SECRET });
  await request('POST', '/secrets', { name: 'DEPLOY_TOKEN', value: SECRET, team: true });
  await request('POST', '/secrets', { name: 'OTHER', value: { nested: SECRET } });
  await request('POST', '/secrets', `{"name":"OTHER","value":${SECRET}`);
  await request('GET', `/agent/runs?cursor=${SECRET}`);
  await request('GET', `/agent/environments/${environment.uid ?? ''}?link=${SECRET}`);
  await request('GET', '/agent/runs/nonsense', undefined, `${key}x`);
  await request('GET', '/me', undefined, `wk-${SECRET}`);
}, 60_000);

afterAll(async () => {
  await service.stop('SIGKILL');
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

const leaks = (text: string): string[] =>
  [...confidential].filter(([, value]) => value !== '' && text.includes(value)).map(([name]) => name);

describe('after a whole scenario, no secret, key or token is found', () => {
  it('and the scenario had them all', () => {
    expect([...confidential.keys()]).toHaveLength(8);
    expect([...confidential.values()].every((value) => value.length > 12)).toBe(true);
  });

  it('in the log, at its most talkative', () => {
    expect(service.output).toContain('/v1/secrets');
    expect(leaks(service.output)).toEqual([]);
  });

  it('in an answer, other than the one that handed it over', () => {
    expect(leaks(answers.join('\n'))).toEqual([]);
  });

  it('in the list of processes', () => {
    expect(processList).toContain('runner/main.js');
    expect(leaks(processList)).toEqual([]);
  });

  it('in a column of the database', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
        WHERE schemaname IN ('public', 'graphile_worker')`,
    );
    expect(tables.length).toBeGreaterThan(10);
    for (const { name } of tables) {
      // As text, and with the bytes of binary columns decoded.
      const { rows } = await client.query<{ row: string }>(
        `SELECT encode(t::text::bytea, 'escape') AS row FROM ${name} t`,
      );
      const text = rows.map(({ row }) => row).join('\n');
      const decoded = text.replace(/\\+x([0-9a-f]+)/g, (_, hex: string) =>
        Buffer.from(hex, 'hex').toString('latin1'),
      );
      expect([name, leaks(text + decoded)]).toEqual([name, []]);
    }
    await client.end();
  });

  it('in a stored object', async () => {
    const { stdout } = await promisify(execFile)(
      'sh',
      ['-c', `find '${directory}/data' -type f -exec cat {} +`],
      {
        encoding: 'latin1',
        maxBuffer: 64 * 1024 * 1024,
      },
    );
    expect(stdout).toContain('command_finished');
    expect(leaks(stdout)).toEqual([]);
  });
});
