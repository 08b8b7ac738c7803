import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { insertTeam, insertUser, type TestUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import { ServiceProcess } from './support/service-process.js';
import { type SimulatedRunner, SimulatedWorker } from './support/simulated-worker.js';
import { type Answer, call, eventually, startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let worker: SimulatedWorker;
let runs: RunsClient;
let stranger: RunsClient;

beforeAll(async () => {
  server = await startTestApp();
  worker = await SimulatedWorker.connect(server);
  runs = new RunsClient(server);
  const { headers } = await insertUser(server.dataSource, { teams: [await insertTeam(server.dataSource)] });
  stranger = new RunsClient(server, headers);
});
afterAll(async () => {
  await worker.close();
  await server.close();
});

/** A run at work, and its agent. */
async function startRun(request: object = {}): Promise<{ runId: string; runner: SimulatedRunner }> {
  const runId = await runs.create(request);
  const assignment = await worker.nextAssignment();
  expect(assignment.task_id).toBe(runId);
  worker.claim(assignment);
  const runner = worker.runner(assignment);
  await runner.begin();
  return { runId, runner };
}

describe('notify-user', () => {
  it('is seen on the timeline of the run', async () => {
    const { runId, runner } = await startRun();
    const message = 'The migration is written; the tests come next';
    expect((await runner.call('POST', 'harness-support/notify-user', { message })).status).toBe(204);
    expect(await runs.timeline(runId)).toContainEqual({
      event_uuid: expect.any(String),
      run_id: runId,
      execution_id: Number(runner.assignment.execution_id),
      event_type: 'user_notified',
      occurred_at: expect.any(String),
      payload: { message },
    });
  });

  it.each([
    ['no message', {}],
    ['an empty one', { message: '' }],
    ['a number', { message: 7 }],
    ['too long a one', { message: 'x'.repeat(10_001) }],
  ])('with %s is a 400 that names the message', async (_case, body) => {
    const { runner } = await startRun();
    expect(await runner.call('POST', 'harness-support/notify-user', body)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'message' }] },
    });
  });

  it('is a 409 once the execution is over, and leaves nothing', async () => {
    const { runId, runner } = await startRun();
    await runs.cancel(runId);
    const answer = await runner.call('POST', 'harness-support/notify-user', { message: 'Late' });
    expect(answer.status).toBe(409);
    expect(await runs.eventTypes(runId)).not.toContain('user_notified');
  });

  it('is a 403 under the name of another run', async () => {
    const { runner } = await startRun();
    const other = await startRun();
    const answer = await call(
      `${server.url}/v1/harness-support/notify-user`,
      'POST',
      { message: 'From elsewhere' },
      {
        Authorization: `Bearer ${runner.assignment.env_vars.WARP_API_KEY!}`,
        'X-Warp-Cloud-Agent-ID': other.runId,
      },
    );
    expect(answer.status).toBe(403);
    expect(await runs.eventTypes(other.runId)).not.toContain('user_notified');
  });
});

describe('the client event run_blocked', () => {
  const report = (runId: string, runner: SimulatedRunner, event_name: string, event_uuid = randomUUID()) =>
    runner.call('POST', `agent/runs/${runId}/client-events`, {
      event_uuid,
      event_name,
      timestamp: new Date().toISOString(),
    });

  it('moves the run to BLOCKED, once, and is on its timeline', async () => {
    const { runId, runner } = await startRun();
    const uuid = randomUUID();
    for (let time = 0; time < 2; time++)
      expect((await report(runId, runner, 'run_blocked', uuid)).status).toBe(204);
    expect((await runs.read(runId)).state).toBe('BLOCKED');
    const types = await runs.eventTypes(runId);
    expect(types.filter((type) => type === 'run_blocked' || type === 'oz_run_blocked')).toEqual([
      'run_blocked',
      'oz_run_blocked',
    ]);
  });

  it('is the only one that moves the run, and moves none that has an outcome', async () => {
    const { runId, runner } = await startRun();
    await report(runId, runner, 'run_failed');
    expect((await runs.read(runId)).state).toBe('INPROGRESS');
    await runner.finish(true);
    await report(runId, runner, 'run_blocked');
    expect((await runs.read(runId)).state).toBe('SUCCEEDED');
  });
});

interface Target {
  url: string;
  method: string;
  headers: Record<string, string>;
}
const put = async ({ url, method, headers }: Target, body: string) =>
  expect((await fetch(url, { method, headers, body })).status).toBe(200);
const textAt = async (url: string) => (await fetch(server.url + new URL(url).pathname)).text();

describe('block-snapshot', () => {
  const open = async (runner: SimulatedRunner): Promise<string> => {
    const { body } = await runner.call('POST', 'harness-support/external-conversation', {
      format: 'claude_code_cli',
    });
    return (body as { conversation_id: string }).conversation_id;
  };
  const target = (runner: SimulatedRunner, conversation_id: string) =>
    runner.call('POST', 'harness-support/block-snapshot', { conversation_id });
  const read = (id: string, client = runs) => client.call('GET', `conversations/${id}/block-snapshot`);

  it('is read back by whoever may read the conversation', async () => {
    const { runner } = await startRun();
    const id = await open(runner);
    expect((await read(id)).status).toBe(404);
    await put((await target(runner, id)).body as Target, '{"blocks":[1]}');
    const answer = await read(id);
    expect(answer.status).toBe(302);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await textAt(answer.headers.get('location')!)).toBe('{"blocks":[1]}');
    expect((await runner.call('GET', `agent/conversations/${id}/block-snapshot`)).status).toBe(302);
    expect((await read(id, stranger)).status).toBe(404);
    expect((await read('nonsense')).status).toBe(404);
  });

  it('of the next execution takes nothing away before its bytes are there', async () => {
    const { runId, runner } = await startRun();
    const id = await open(runner);
    const late = (await target(runner, id)).body as Target;
    await put(late, '"first"');
    await runner.finish(true);
    await runner.shutDown();
    await runs.call('POST', `runs/${runId}/followups`, { message: 'Go on' });
    const assignment = await worker.nextAssignment();
    worker.claim(assignment);
    const next = (await target(worker.runner(assignment), id)).body as Target;
    expect(await textAt((await read(id)).headers.get('location')!)).toBe('"first"');
    // What the earlier execution still puts is not the conversation's any more.
    await put(late, '"late"');
    expect(await textAt((await read(id)).headers.get('location')!)).toBe('"first"');
    await put(next, '"second"');
    expect(await textAt((await read(id)).headers.get('location')!)).toBe('"second"');
  });

  it('is only for the conversation of the own run', async () => {
    const { runner } = await startRun();
    const other = await startRun();
    const id = await open(other.runner);
    expect((await target(runner, id)).status).toBe(404);
    expect((await target(runner, 'nonsense')).status).toBe(400);
  });
});

describe('a checkpoint', () => {
  const named = (...names: string[]) => names.map((filename) => ({ filename, mime_type: 'text/plain' }));
  const ask = (runner: SimulatedRunner, generation: unknown, ...names: string[]) =>
    runner.call('POST', 'harness-support/upload-snapshot', {
      mode: 'checkpoint',
      generation,
      files: named(...names),
    });
  const uploads = (answer: Answer): Target[] => {
    expect(answer).toMatchObject({ status: 200 });
    return (answer.body as { uploads: Target[] }).uploads;
  };
  /** Puts files that all say the same. */
  const checkpoint = async (
    runner: SimulatedRunner,
    generation: number,
    text: string,
    ...names: string[]
  ) => {
    for (const target of uploads(await ask(runner, generation, ...names))) await put(target, text);
  };
  const commit = (runner: SimulatedRunner, generation: unknown, ...files: unknown[]) =>
    runner.call('POST', 'harness-support/commit-snapshot', { generation, files });
  /** What whoever continues the run finds: names and bytes. */
  const leftBehind = async (runId: string): Promise<[string, string][]> => {
    const { body } = await runs.call('GET', `runs/${runId}/handoff/attachments`);
    const { attachments } = body as { attachments: { filename: string; download_url: string }[] };
    return Promise.all(
      attachments.map(async ({ filename, download_url }): Promise<[string, string]> => [
        filename,
        await textAt(download_url),
      ]),
    );
  };
  const named400 = (field: string) => ({ status: 400, body: { errors: [{ field }] } });

  it('is left behind by an execution that dies: the last one that it committed, whole', async () => {
    const { runId, runner } = await startRun();
    await checkpoint(runner, 0, 'zero', 'a', 'b');
    expect(await commit(runner, 0, 'a', 'b')).toMatchObject({ status: 200, body: { generation: 0 } });
    await checkpoint(runner, 7, 'seven', 'a', 'c');
    expect(await commit(runner, 7, 'a', 'c')).toMatchObject({ status: 200, body: { generation: 7 } });
    await checkpoint(runner, 8, 'eight', 'a');
    expect(await leftBehind(runId)).toEqual([]);
    await runner.shutDown({ category: 'oom', message: 'Killed' });
    expect(await leftBehind(runId)).toEqual([
      ['a', 'seven'],
      ['c', 'seven'],
    ]);
  });

  it('stays as it is when one file of the next has not been put', async () => {
    const { runId, runner } = await startRun();
    await checkpoint(runner, 1, 'one', 'a');
    await commit(runner, 1, 'a');
    const [a] = uploads(await ask(runner, 2, 'a', 'b'));
    await put(a!, 'two');
    expect(await commit(runner, 2, 'a', 'b')).toMatchObject(named400('files'));
    expect(await commit(runner, 2, 'a', 'never asked for')).toMatchObject(named400('files'));
    await runner.shutDown();
    expect(await leftBehind(runId)).toEqual([['a', 'one']]);
  });

  it('is committed once by ten calls, and by none that comes after a later one', async () => {
    const { runId, runner } = await startRun();
    await checkpoint(runner, 1, 'one', 'a', 'dropped');
    await checkpoint(runner, 2, 'two', 'a');
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => commit(runner, 2, 'a')),
      commit(runner, 1, 'a'),
    ]);
    expect(answers.slice(0, 10).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    // The earlier generation was either before the later one, or forgotten by it.
    expect([200, 400]).toContain(answers[10]!.status);
    expect((await commit(runner, 1, 'a')).status).toBe(400);
    expect(await ask(runner, 1, 'a')).toMatchObject(named400('generation'));
    expect(await ask(runner, 2, 'a')).toMatchObject(named400('generation'));
    const rows = await server.dataSource.query<object[]>('SELECT 1 FROM snapshot_files WHERE run_id = $1', [
      runId,
    ]);
    expect(rows).toHaveLength(1);
    await runner.shutDown();
    expect(await leftBehind(runId)).toEqual([['a', 'two']]);
  });

  it('does not count where files were left behind at the end', async () => {
    const { runId, runner } = await startRun();
    await checkpoint(runner, 1, 'in between', 'a');
    await commit(runner, 1, 'a');
    const answer = await runner.call('POST', 'harness-support/upload-snapshot', { files: named('a') });
    await put(uploads(answer)[0]!, 'at the end');
    await runner.finish(true);
    await runner.shutDown();
    expect(await leftBehind(runId)).toEqual([['a', 'at the end']]);
  });

  it('does not use up the files of a run: earlier ones make room', async () => {
    const { runner } = await startRun();
    const names = Array.from({ length: 25 }, (_, at) => `file-${String(at)}`);
    for (let generation = 1; generation <= 6; generation++) {
      await checkpoint(runner, generation, 'x', ...names);
      expect((await commit(runner, generation, ...names)).status).toBe(200);
    }
    for (const generation of [7, 8, 9]) expect((await ask(runner, generation, ...names)).status).toBe(200);
    expect((await ask(runner, 10, 'one more')).status).toBe(403);
  });

  it('has its form', async () => {
    const { runner } = await startRun();
    for (const generation of [undefined, -1, 1.5, '1', 2 ** 53]) {
      expect(await ask(runner, generation, 'a')).toMatchObject(named400('generation'));
      expect(await commit(runner, generation, 'a')).toMatchObject(named400('generation'));
    }
    expect(await commit(runner, 1)).toMatchObject(named400('files'));
    expect(await commit(runner, 1, '../a')).toMatchObject(named400('files'));
    expect(await commit(runner, 1, 7)).toMatchObject(named400('files'));
    const body = { mode: 'other', generation: 1, files: named('a') };
    expect(await runner.call('POST', 'harness-support/upload-snapshot', body)).toMatchObject(
      named400('mode'),
    );
  });

  it('is a 409 once the execution is over', async () => {
    const { runId, runner } = await startRun();
    await checkpoint(runner, 1, 'one', 'a');
    await runs.cancel(runId);
    expect((await commit(runner, 1, 'a')).status).toBe(409);
    expect((await ask(runner, 2, 'a')).status).toBe(409);
  });
});

describe('the attachments of a run', () => {
  interface Prepared {
    attachment_id: string;
    upload_url: string;
    upload_target: Target;
  }
  const files = (...names: string[]) => names.map((filename) => ({ filename, mime_type: 'text/plain' }));
  const prepare = (runId: string, names: string[], client = runs) =>
    client.call('POST', `runs/${runId}/attachments/prepare`, { files: files(...names) });
  const prepared = async (runId: string, ...names: string[]): Promise<Prepared[]> => {
    const answer = await prepare(runId, names);
    expect(answer).toMatchObject({ status: 200 });
    return (answer.body as { attachments: Prepared[] }).attachments;
  };
  const idsOf = ({ body }: Answer) =>
    (body as { attachments: { attachment_id: string }[] }).attachments.map((each) => each.attachment_id);

  it('are put by whoever gives them, and downloaded by its agent', async () => {
    const { runId, runner } = await startRun();
    const [a, b] = await prepared(runId, 'a.txt', 'b.txt');
    expect(a!.upload_url).toBe(a!.upload_target.url);
    await put(a!.upload_target, 'A file');
    const path = `agent/runs/${runId}/attachments/download`;
    const ids = [a!.attachment_id.toUpperCase(), b!.attachment_id, randomUUID()];
    const answer = await runner.call('POST', path, { attachment_ids: ids });
    expect(answer).toMatchObject({ status: 200 });
    expect(idsOf(answer)).toEqual([a!.attachment_id]);
    const [{ download_url }] = (answer.body as { attachments: [{ download_url: string }] }).attachments;
    expect(await textAt(download_url)).toBe('A file');
  });

  it('are in place for the next execution, as far as they have been put', async () => {
    const { runId, runner } = await startRun();
    const [a] = await prepared(runId, 'a.txt', 'never-put.txt');
    await put(a!.upload_target, 'A file');
    const { body } = await runner.call('GET', 'harness-support/execution');
    expect(idsOf({ body } as Answer)).toEqual([a!.attachment_id]);
    const contextFor = async (request: object): Promise<unknown> =>
      (
        (await runner.call('POST', 'harness-support/resolve-prompt', request)).body as {
          context?: string;
        }
      ).context;
    expect(await contextFor({ attachments_dir: '/in' })).toBe(
      'The files that you were given are in /in: a.txt',
    );
    expect(await contextFor({ attachments_dir: null, skill: null })).toBeUndefined();
  });

  it('are given by its agent, too, but to no other run', async () => {
    const { runId, runner } = await startRun();
    const other = await startRun();
    const give = (id: string) =>
      runner.call('POST', `agent/runs/${id}/attachments/prepare`, { files: files('a') });
    expect((await give(runId)).status).toBe(200);
    expect((await give(other.runId)).status).toBe(404);
    const [theirs] = await prepared(other.runId, 'secret');
    await put(theirs!.upload_target, 'A secret');
    const attachment_ids = [theirs!.attachment_id];
    const ask = (id: string) =>
      runner.call('POST', `agent/runs/${id}/attachments/download`, { attachment_ids });
    expect((await ask(other.runId)).status).toBe(404);
    expect(idsOf(await ask(runId))).toEqual([]);
    expect((await prepare(runId, ['a'], stranger)).status).toBe(404);
  });

  it('are a hundred at most, however many give them at once', async () => {
    const { runId } = await startRun();
    const names = Array.from({ length: 25 }, (_, at) => `file-${String(at)}`);
    const answers = await Promise.all(Array.from({ length: 8 }, () => prepare(runId, names)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 403, 403, 403, 403]);
  });

  it('have their form', async () => {
    const { runId } = await startRun();
    const call400 = async (path: string, body: object, field: string) =>
      expect(await runs.call('POST', `runs/${runId}/attachments/${path}`, body)).toMatchObject({
        status: 400,
        body: { errors: [{ field }] },
      });
    await call400('prepare', { files: [] }, 'files');
    await call400('prepare', { files: files('../a') }, 'files.0.filename');
    await call400('download', { attachment_ids: ['nonsense'] }, 'attachment_ids');
    await call400('download', {}, 'attachment_ids');
    expect((await prepare('nonsense', ['a'])).status).toBe(404);
  });
});

describe('the old path of cancel', () => {
  it('cancels, and answers with the id as a JSON string', async () => {
    const { runId } = await startRun();
    const path = `tasks/${runId}/cancel`;
    expect((await stranger.call('POST', path)).status).toBe(404);
    expect(await runs.call('POST', path)).toMatchObject({ status: 200, body: runId });
    expect((await runs.read(runId)).state).toBe('CANCELLED');
    expect((await runs.call('POST', path)).status).toBe(400);
    expect((await runs.call('POST', 'tasks/nonsense/cancel')).status).toBe(404);
  });
});

describe('the children of a run', () => {
  interface Family {
    children?: string[];
  }
  const childrenOf = async (runId: string) => ((await runs.read(runId)) as Family).children;

  it('are shown with the run, the earliest first, to whom may know of them', async () => {
    const { runId, runner } = await startRun();
    const first = await runs.create({ parent_run_id: runId });
    const second = await runs.create({ parent_run_id: runId });
    await runs.create({ parent_run_id: first });
    expect(await childrenOf(runId)).toEqual([first, second]);
    expect(await childrenOf(second)).toEqual([]);
    const own = await runner.call('GET', `agent/runs/${runId}`);
    expect((own.body as Family).children).toEqual([first, second]);
    const { runs: listed } = await runs.list(`ancestor_run_id=${runId}`);
    for (const run of listed) expect(run).not.toHaveProperty('children');
    for (let taken = 0; taken < 3; taken++) worker.claim(await worker.nextAssignment());
  });

  it('of another team are not shown', async () => {
    const { runId } = await startRun();
    const child = await runs.create({ parent_run_id: runId });
    worker.claim(await worker.nextAssignment());
    await server.dataSource.query('UPDATE runs SET team_uid = $2 WHERE id = $1', [
      child,
      await insertTeam(server.dataSource),
    ]);
    expect(await childrenOf(runId)).toEqual([]);
  });
});

describe('the self-hosted workers that are connected', () => {
  interface Worker {
    worker_host: string;
    connection_count: number;
    connected_at: string;
    last_seen_at: string;
  }
  let replica: TestApp;
  let member: TestUser;

  beforeAll(async () => {
    replica = await startTestApp({}, server);
    member = await insertUser(server.dataSource, { teams: [await insertTeam(server.dataSource)] });
  });
  afterAll(async () => {
    await replica.close();
  });

  const connected = async (at: TestApp, headers = member.headers): Promise<Worker[]> => {
    const { status, body } = await at.call(
      'GET',
      '/v1/agent/connected-self-hosted-workers',
      undefined,
      headers,
    );
    expect(status).toBe(200);
    return (body as { workers: Worker[] }).workers;
  };

  it('are the same at every replica, by name, with all of their connections', async () => {
    const options = { workerId: 'farm', key: member.key };
    const connections = [
      await SimulatedWorker.connect(server, options),
      await SimulatedWorker.connect(replica, options),
      await SimulatedWorker.connect(replica, { ...options, workerId: 'barn' }),
    ];
    const seen = await connected(server);
    expect(seen).toEqual([
      {
        worker_host: 'barn',
        connection_count: 1,
        connected_at: expect.any(String),
        last_seen_at: expect.any(String),
      },
      {
        worker_host: 'farm',
        connection_count: 2,
        connected_at: expect.any(String),
        last_seen_at: expect.any(String),
      },
    ]);
    // Pings go on.
    const lasting = seen.map(({ last_seen_at: _, ...rest }) => rest);
    expect(await connected(replica)).toMatchObject(lasting);
    for (const { connected_at, last_seen_at } of seen)
      expect(Date.parse(last_seen_at)).toBeGreaterThanOrEqual(Date.parse(connected_at));
    for (const connection of connections) await connection.close();
    await expectNone();
  });

  it('are those of the own team alone, without the hosted pool', async () => {
    const connection = await SimulatedWorker.connect(server, { workerId: 'secret', key: member.key });
    const other = await insertUser(server.dataSource, { teams: [await insertTeam(server.dataSource)] });
    // The worker of the operator's key, connected since the beginning, is of the hosted pool.
    expect(await connected(server, other.headers)).toEqual([]);
    expect((await connected(server)).map((each) => each.worker_host)).toEqual(['secret']);
    await connection.close();
    await expectNone();
  });

  it('are there again when they were given up while nobody could say that they are there', async () => {
    const connection = await SimulatedWorker.connect(server, { workerId: 'given-up', key: member.key });
    const before = await connected(server);
    expect(before).toHaveLength(1);
    await server.dataSource.query(`DELETE FROM worker_connections WHERE worker_id = 'given-up'`);
    await connection.untilHandled();
    expect(await connected(server)).toMatchObject([
      { worker_host: 'given-up', connected_at: before[0]?.connected_at },
    ]);
    await connection.close();
    await expectNone();
  });

  it('may connect with the key of an agent of the team', async () => {
    const agent = await server.call('POST', '/v1/agent/identities', { name: 'Farmer' }, member.headers);
    const { uid } = agent.body as { uid: string };
    const key = await server.call('POST', '/v1/api-keys', { name: 'farm', agent_uid: uid }, member.headers);
    const { key: raw } = key.body as { key: string };
    const connection = await SimulatedWorker.connect(server, { workerId: 'agents-own', key: raw });
    expect((await connected(server)).map((each) => each.worker_host)).toEqual(['agents-own']);
    await connection.close();
    await expectNone();
  });

  it('lack those of a replica that was killed, once they have been silent for 90 seconds', async () => {
    const options = { workerId: 'twice', key: member.key };
    const alive = await SimulatedWorker.connect(server, options);
    const killed = await ServiceProcess.start({
      DATABASE_URL: server.databaseUrl,
      DATA_DIR: join(server.dataDir, 'killed'),
      ENCRYPTION_KEY: server.encryptionKey.toString('base64'),
      WORKER_SLOTS: '0',
    });
    const orphan = await SimulatedWorker.connect({ ...server, url: killed.url }, options);
    await killed.stop('SIGKILL');
    await orphan.closed;
    const counts = async () =>
      (await connected(replica)).map(({ worker_host, connection_count }) => [worker_host, connection_count]);
    expect(await counts()).toEqual([['twice', 2]]);
    // In place of a wait of 90 seconds.
    await server.dataSource.query(
      `UPDATE worker_connections SET last_seen_at = now() - interval '91 seconds'
        WHERE id = (SELECT id FROM worker_connections WHERE worker_id = 'twice' ORDER BY connected_at DESC LIMIT 1)`,
    );
    expect(await counts()).toEqual([['twice', 1]]);
    await alive.close();
    await expectNone();
  });

  async function expectNone(): Promise<void> {
    await eventually(async () => ((await connected(server)).length === 0 ? true : undefined), {
      what: 'the departure of the workers',
    });
  }
});
