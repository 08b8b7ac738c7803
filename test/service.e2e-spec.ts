import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { isAlive } from './support/processes.js';
import { scaled } from './support/soak.js';
import { ServiceProcess } from './support/service-process.js';
import { eventually } from './support/test-app.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const bash = (script: string): string => `Run this:\n\`\`\`bash\n${script}\n\`\`\`\n`;

let directory: string;
let started: ServiceProcess[];

const start = async (environment: Record<string, string> = {}): Promise<ServiceProcess> => {
  const service = await ServiceProcess.start({ DATA_DIR: join(directory, 'data'), ...environment });
  started.push(service);
  return service;
};

/** Reads the number that a script has written, once it is there. */
const readNumber = (path: string): Promise<number> =>
  eventually(
    async () => {
      const text = await readFile(path, 'utf8').catch(() => '');
      return text.endsWith('\n') ? Number(text) : undefined;
    },
    { what: path },
  );

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millwright-service-'));
  started = [];
});
afterEach(async () => {
  for (const service of started) await service.stop('SIGKILL');
  await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

describe('a fresh installation', () => {
  it('starts by itself, executes the run that it offers to paste, and stops without a trace', async () => {
    const service = await start({ BOOTSTRAP_API_KEY: '' });
    const { output } = service;
    for (const name of ['API', 'Swagger UI', 'Health', 'Admin API key (shown only now'])
      expect(output).toContain(name);

    const command = /^ *(curl .*)$/m.exec(output)?.[1] ?? '';
    const answer = JSON.parse(await shell(command)) as { run_id: string };
    const key = /Bearer (wk-[\w-]+)/.exec(command)?.[1] ?? '';
    const read = (path: string): Promise<string> =>
      shell(
        `curl -sSL ${service.url}/v1/agent/runs/${answer.run_id}${path} -H "Authorization: Bearer ${key}"`,
      );
    await eventually(async () => ((await read('')).includes('"state":"SUCCEEDED"') ? true : undefined));
    await eventually(async () => ((await read('/timeline')).includes('vm_shutdown') ? true : undefined));

    const hello = `Hello from ${(await shell('hostname')).trim()}`;
    expect(await read('/conversation')).toContain(hello);
    expect(await read('/transcript')).toContain(hello);
    const events = (JSON.parse(await read('/timeline')) as { events: { event_type: string }[] }).events;
    expect(events.map((event) => event.event_type)).toEqual([
      'oz_run_created',
      'run_assigned',
      'oz_run_claimed',
      'agent_started',
      'run_in_progress',
      'oz_run_done',
      'vm_shutdown',
    ]);

    const postgres = Number(
      (await readFile(join(directory, 'data/postgres-18/data/postmaster.pid'), 'utf8')).split('\n')[0],
    );
    expect(isAlive(postgres)).toBe(true);
    expect(await service.stop('SIGINT')).toBe(0);
    expect(isAlive(postgres)).toBe(false);
  });

  it('keeps its data over restarts and kill -9, and shows the key only once', async () => {
    const first = await start({ BOOTSTRAP_API_KEY: '' });
    const key = /(wk-[\w-]{40,})/.exec(first.output)?.[1] ?? '';
    await first.stop('SIGKILL');
    const second = await start({ BOOTSTRAP_API_KEY: '' });
    expect(second.output).not.toContain('wk-');
    const list = await fetch(`${second.url}/v1/agent/runs`, { headers: { Authorization: `Bearer ${key}` } });
    expect(list.status).toBe(200);
    expect(await second.stop()).toBe(0);
  });

  it('says which variable is wrong, not what it holds, and leaves nothing running', async () => {
    const child = spawn(process.execPath, ['scripts/start.mjs'], {
      cwd: new URL('..', import.meta.url).pathname,
      env: { ...process.env, DATABASE_URL: 'hunter2', PORT: 'hunter3', DATA_DIR: directory },
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(1);
    expect(output).toContain('DATABASE_URL');
    expect(output).toContain('PORT');
    expect(output).not.toContain('hunter');
  });

  it('that cannot have its port says so and stops its database', async () => {
    const first = await start();
    const { port } = new URL(first.url);
    await expect(start({ PORT: port, DATA_DIR: join(directory, 'other') })).rejects.toThrow(/in use already/);
    await expect(readFile(join(directory, 'other/postgres-18/data/postmaster.pid'))).rejects.toThrow(
      /ENOENT/,
    );
  });
});

describe('kill -9 of the service in the middle of a run', () => {
  // The leases are short so that the test is.
  const environment = { LEASE_SECONDS: '3', WORKER_SLOTS: '1' };

  it('does not stop the run: its runner goes on and reports to the next process', async () => {
    const port = new URL((await start(environment)).url).port;
    const [first] = started;
    const go = join(directory, 'go');
    const id = await first!.startRun(bash(`until [ -e ${go} ]; do sleep 0.1; done; echo survived`));
    await first!.reaches(id, ['INPROGRESS']);
    await first!.stop('SIGKILL');
    const second = await start({ ...environment, PORT: port });
    await shell(`touch ${go}`);
    await second.reaches(id, ['SUCCEEDED']);
    const { body } = await second.call('GET', `/v1/agent/runs/${id}/conversation`);
    expect(JSON.stringify(body)).toContain('survived');
  });

  it('and of its runner: the run ends by its lease, and the queue goes on', async () => {
    const first = await start(environment);
    const pidFile = join(directory, 'pid');
    const id = await first.startRun(bash(`echo $PPID > ${pidFile}; sleep 600`));
    const queued = await first.startRun(bash('echo next'));
    const runner = await readNumber(pidFile);
    await first.stop('SIGKILL');
    process.kill(-runner, 'SIGKILL');
    const second = await start({ ...environment, PORT: new URL(first.url).port });
    const lost = await second.reaches(id, ['ERROR']);
    expect(lost).toMatchObject({ status_message: { error_code: 'resource_unavailable', retryable: true } });
    await second.reaches(queued, ['SUCCEEDED']);
  });
});

describe('a conversation of several turns', () => {
  it('goes on with a follow-up to a run that has ended, and then with a run of its own', async () => {
    const service = await start();
    const id = await service.startRun(bash('echo first-turn > kept; cat kept'));
    await service.reaches(id, ['SUCCEEDED']);
    const followUp = await service.call('POST', `/v1/agent/runs/${id}/followups`, {
      message: bash('echo second-turn'),
    });
    expect([followUp.status, followUp.body]).toEqual([200, {}]);
    const turns = (runId: string, count: number) =>
      eventually(
        async () => {
          const { body } = await service.call('GET', `/v1/agent/runs/${runId}/conversation`);
          const { steps } = body as { steps?: { completed_at?: string; messages: unknown[] }[] };
          return steps?.length === count && steps.at(-1)?.completed_at !== undefined ? steps : undefined;
        },
        { what: `${String(count)} turns` },
      );
    const steps = await turns(id, 2);
    expect(JSON.stringify(steps[0])).toContain('first-turn');
    expect(JSON.stringify(steps[1])).toContain('second-turn');
    const ended = await service.reaches(id, ['SUCCEEDED']);
    expect(ended.status_message?.message).toBe('1 command succeeded');
    await eventually(async () => ((await service.run(id)).is_sandbox_running ? undefined : true));
    const execution = ['run_assigned', 'oz_run_claimed', 'agent_started', 'run_in_progress', 'oz_run_done'];
    const types = (await service.eventTypes(id)).filter((type) => type !== 'vm_shutdown');
    expect(types).toEqual(['oz_run_created', ...execution, 'followup_received', ...execution]);

    const { conversation_id: conversationId } = (await service.run(id)) as unknown as {
      conversation_id: string;
    };
    const next = await service.call('POST', '/v1/agent/runs', {
      prompt: bash('echo third-turn'),
      conversation_id: conversationId,
    });
    const { run_id: nextId } = next.body as { run_id: string };
    await service.reaches(nextId, ['SUCCEEDED']);
    expect(JSON.stringify((await turns(nextId, 3))[2])).toContain('third-turn');
    const whole = await service.call('GET', `/v1/agent/conversations/${conversationId}`);
    expect(whole.body).toMatchObject({ conversation_id: conversationId, steps: [{}, {}, {}] });
  });

  it('goes on with a follow-up that came while the agent was at work', async () => {
    const service = await start();
    const go = join(directory, 'go');
    const id = await service.startRun(bash(`until [ -e ${go} ]; do sleep 0.1; done; echo first-turn`));
    await service.reaches(id, ['INPROGRESS']);
    // The agent has its prompt once its command runs.
    await eventually(async () => {
      const { body } = await service.call('GET', `/v1/agent/runs/${id}/conversation`);
      return JSON.stringify(body).includes('run_command') ? true : undefined;
    });
    await service.call('POST', `/v1/agent/runs/${id}/followups`, { message: bash('echo second-turn') });
    await shell(`touch ${go}`);
    await service.reaches(id, ['SUCCEEDED']);
    const { body } = await service.call('GET', `/v1/agent/runs/${id}/conversation`);
    expect((body as { steps: unknown[] }).steps).toHaveLength(2);
    const types = await service.eventTypes(id);
    expect(types.filter((type) => type === 'run_assigned' || type === 'run_requeued')).toEqual([
      'run_assigned',
    ]);
    expect(types.indexOf('followup_received')).toBeLessThan(types.indexOf('oz_run_done'));
  });
});

describe('two processes on one database', () => {
  const LONG = scaled(240_000, 3_600_000);
  /** As many as a service answers at a time without refusing any. */
  const AT_ONCE = 50;
  const startRuns = async (
    count: number,
    startRun: (index: number) => Promise<string>,
  ): Promise<string[]> => {
    const ids: string[] = [];
    while (ids.length < count) {
      const length = Math.min(AT_ONCE, count - ids.length);
      ids.push(...(await Promise.all(Array.from({ length }, (_, index) => startRun(ids.length + index)))));
    }
    return ids;
  };

  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    for (const service of started) await service.stop('SIGKILL');
    await database.drop();
  });

  it(
    'execute each of 200 queued runs once',
    async () => {
      const runs = scaled(200, 5000);
      const environment = { DATABASE_URL: database.url, WORKER_SLOTS: '4', API_REQUESTS_PER_MINUTE: '0' };
      const services = await Promise.all([
        start({ ...environment, DATA_DIR: join(directory, 'a') }),
        start({ ...environment, DATA_DIR: join(directory, 'b') }),
      ]);
      const log = join(directory, 'log');
      const ids = await startRuns(runs, (index) =>
        services[index % 2]!.startRun(bash(`echo $OZ_RUN_ID >> ${log}`)),
      );
      await eventually(
        async () => {
          return (await countByState(database)).SUCCEEDED === runs ? true : undefined;
        },
        { withinMs: scaled(200_000, 3_000_000), what: 'the end of all runs' },
      );
      const executed = (await readFile(log, 'utf8')).trim().split('\n');
      expect(executed).toHaveLength(runs);
      expect(new Set(executed)).toEqual(new Set(ids));
    },
    LONG,
  );

  it(
    'lose and repeat nothing while one of them is killed again and again',
    async () => {
      const runs = scaled(40, 2000);
      const kills = scaled(2, 60);
      const environment = {
        DATABASE_URL: database.url,
        WORKER_SLOTS: '2',
        API_REQUESTS_PER_MINUTE: '0',
        LEASE_SECONDS: '60',
        CLAIM_DEADLINE_SECONDS: '2',
      };
      const steady = await start({ ...environment, DATA_DIR: join(directory, 'a') });
      const victim = { ...environment, DATA_DIR: join(directory, 'b') };
      let killed = await start(victim);
      const { port } = new URL(killed.url);
      const log = join(directory, 'log');
      const ids = await startRuns(runs, () => steady.startRun(bash(`sleep 0.2; echo $OZ_RUN_ID >> ${log}`)));
      for (let kill = 0; kill < kills; kill++) {
        await killed.stop('SIGKILL');
        killed = await start({ ...victim, PORT: port });
      }
      // One that was claimed when its worker was killed, and whose runner was not started yet, ends by its lease: to be started again.
      const ended = async (): Promise<{ id: string; state: string }[] | undefined> => {
        const over = await query<{ id: string; state: string }>(
          database,
          `SELECT id, state FROM runs
            WHERE state = 'SUCCEEDED'
               OR state = 'ERROR' AND (status_message->>'retryable')::boolean AND EXISTS (
                  SELECT FROM run_executions e
                   WHERE e.id = runs.execution_id AND e.end_reason = 'lease_expired' AND e.started_at IS NULL)`,
        );
        return over.length === runs ? over : undefined;
      };
      const outcomes = await eventually(ended, {
        withinMs: scaled(200_000, 3_000_000),
        what: 'the end of all runs',
      });
      const lost = outcomes.filter(({ state }) => state === 'ERROR').map(({ id }) => id);
      expect(lost.length).toBeLessThanOrEqual(kills);
      const executed = (await readFile(log, 'utf8')).trim().split('\n');
      expect(executed.sort()).toEqual(ids.filter((id) => !lost.includes(id)).sort());
    },
    LONG,
  );
});

describe('cancelling a run', () => {
  it('that sleeps marks it CANCELLED at once and ends its whole process group within 5 s', async () => {
    const service = await start();
    const pidFile = join(directory, 'pids');
    const id = await service.startRun(
      bash(`sleep 600 &\n(sleep 601 & echo "$PPID $$ $!" > ${pidFile})\nsleep 602`),
    );
    const pids = await eventually(async () => {
      const text = await readFile(pidFile, 'utf8').catch(() => '');
      return text.endsWith('\n') ? text.trim().split(' ').map(Number) : undefined;
    });
    expect(pids.every(isAlive)).toBe(true);
    const [runner] = pids;

    const cancelledAt = performance.now();
    const { status, body } = await service.call('POST', `/v1/agent/runs/${id}/cancel`);
    expect([status, body]).toEqual([200, id]);
    expect((await service.run(id)).state).toBe('CANCELLED');
    await eventually(async () => ((await groupMembers(runner ?? 0)) === 0 ? true : undefined), {
      withinMs: 5000,
      what: 'the end of the process group',
    });
    expect(performance.now() - cancelledAt).toBeLessThan(5000);
    await eventually(async () => ((await service.run(id)).is_sandbox_running ? undefined : true));
    expect(await service.eventTypes(id)).toEqual(
      expect.arrayContaining(['cancel_requested', 'oz_run_cancelled', 'vm_shutdown']),
    );
  });

  it('is a stop like any other for SIGTERM: the run ends, nothing is left', async () => {
    const service = await start({ DRAIN_SECONDS: '0' });
    const pidFile = join(directory, 'pid');
    await service.startRun(bash(`echo $PPID > ${pidFile}; sleep 600`));
    const runner = await readNumber(pidFile);
    expect(await service.stop('SIGTERM')).toBe(0);
    expect(await groupMembers(runner)).toBe(0);
  });
});

/** How many processes of the group are alive. A zombie is not: it only waits for an init process that may be slow. */
async function groupMembers(group: number): Promise<number> {
  const lines = (await shell('ps -eo pgid=,stat=')).split('\n').map((line) => line.trim().split(/\s+/));
  return lines.filter(([pgid, stat]) => Number(pgid) === group && !stat?.startsWith('Z')).length;
}

async function shell(command: string): Promise<string> {
  const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return output;
}

async function countByState(database: TestDatabase): Promise<Record<string, number>> {
  const rows = await query<{ state: string; count: number }>(
    database,
    'SELECT state, count(*)::int AS count FROM runs GROUP BY state',
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

async function query<Row extends pg.QueryResultRow>(database: TestDatabase, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
