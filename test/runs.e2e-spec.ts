import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { firstTeam, insertTeam, insertUser, type TestUser } from './support/identities.js';
import { type Run, RunsClient } from './support/runs.js';
import { SimulatedWorker } from './support/simulated-worker.js';
import { startTestApp, type TestApp } from './support/test-app.js';

const UNKNOWN = '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11';
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let server: TestApp;
let runs: RunsClient;
let team: string;

beforeAll(async () => {
  // No sweeper: nothing changes a waiting run behind the back of a test. No built-in worker is started by the tests.
  server = await startTestApp({ ROLES: 'api,dispatcher' });
  runs = new RunsClient(server);
  team = await firstTeam(server.dataSource);
});
afterAll(async () => {
  await server.close();
});

describe('a new run', () => {
  it.each(['run', 'runs'])('is queued by POST /agent/%s', async (path) => {
    const answer = await runs.call('POST', path, { prompt: 'Say where you are' });
    expect(answer.status).toBe(200);
    const { run_id: runId } = answer.body as { run_id: string };
    expect(answer.body).toEqual({ run_id: runId, task_id: runId, state: 'QUEUED' });
    expect(runId).toMatch(UUID_V7);
    expect(await runs.read(runId)).toMatchObject({ state: 'QUEUED', prompt: 'Say where you are' });
  });

  it('is all that it was asked to be', async () => {
    const prompt = '# Where?\n\n```bash\nhostname\n```\n🚀 "quoted" \\ $1';
    const metadata = { ticket: 'OPS-1142', 'a.b_c-D9': '', emoji: 'ünï 🚀' };
    const runId = await runs.create({ prompt, metadata });
    const run = await runs.read(runId);
    expect(run).toEqual({
      run_id: runId,
      task_id: runId,
      title: 'Where?',
      state: 'QUEUED',
      prompt,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: run.created_at,
      started_at: null,
      execution_location: 'REMOTE',
      source: 'API',
      creator: { type: 'user', uid: expect.any(String), display_name: 'Admin' },
      executor: { type: 'user', uid: expect.any(String), display_name: 'Admin' },
      agent_config: { model_id: 'script', harness: { type: 'oz' } },
      metadata,
      is_sandbox_running: false,
      artifacts: [],
      children: [],
      session_link: `http://localhost:8080/runs/${runId}`,
      mode: 'normal',
      interactive: false,
      is_run_type_cancellable: true,
      scope: { type: 'Team', uid: team },
    });
  });

  it.each([
    ['the given one', { prompt: 'A prompt', title: 'A title' }, 'A title'],
    [
      'the first line that says something',
      { prompt: '\n```bash\n\n## Look *here*\nnot here' },
      'Look *here*',
    ],
    ['a shortened line', { prompt: '🚀'.repeat(200) }, `${'🚀'.repeat(99)}…`],
    ['a substitute', { prompt: ' \n ' }, 'Untitled run'],
  ])('has for a title %s', async (_, request, title) => {
    expect((await runs.read(await runs.create(request))).title).toBe(title);
  });

  it('keeps the configuration that was asked for, and the defaults for the rest', async () => {
    const config = {
      name: 'nightly',
      model_id: 'script',
      base_prompt: 'You maintain the web shop.',
      mcp_servers: { tracker: { url: 'https://mcp.example', headers: { 'X-Team': 'shop' } } },
      idle_timeout_minutes: 5,
      credential_strategy: null,
    };
    const runId = await runs.create({ config });
    expect(await runs.read(runId)).toMatchObject({ agent_config: { ...config, harness: { type: 'oz' } } });
  });

  it.each([
    ['prompt', { prompt: 'a\0b' }],
    ['prompt', { prompt: 'a\ud800b' }],
    ['title', { prompt: 'x', title: 'a\0b' }],
    ['config.name', { prompt: 'x', config: { name: 'a\0b' } }],
    ['config.name', { prompt: 'x', config: { name: 'a\udfffb' } }],
    ['config.worker_host', { prompt: 'x', config: { worker_host: 'a\0b' } }],
    ['metadata', { prompt: 'x', metadata: { prototype: 'a' } }],
    ['metadata', '{"prompt":"x","metadata":{"__proto__":"a"}}'],
    ['config.mcp_servers', { prompt: 'x', config: { mcp_servers: { constructor: { url: 'http://a' } } } }],
    ['prompt', `{"prompt":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['config', `{"prompt":"x","config":{"mcp_servers":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}}`],
  ])('is refused when its %s cannot be kept as it is', async (field, request) => {
    const { runs: before } = await runs.list();
    expect(await runs.call('POST', 'runs', request)).toMatchObject({
      status: 400,
      body: { error_code: 'invalid_request', errors: [{ field }] },
    });
    expect((await runs.list()).runs).toEqual(before);
  });

  it('has a timeline that begins, and no conversation or transcript yet', async () => {
    const runId = await runs.create();
    expect(await runs.timeline(runId)).toEqual([
      {
        event_uuid: expect.any(String),
        run_id: runId,
        event_type: 'oz_run_created',
        occurred_at: (await runs.read(runId)).created_at,
        payload: { source: 'API' },
      },
    ]);
    for (const part of ['conversation', 'transcript']) {
      expect(await runs.call('GET', `runs/${runId}/${part}`)).toMatchObject({
        status: 404,
        body: { error_code: 'resource_not_found' },
      });
    }
  });
});

describe('the owner of a run', () => {
  let otherTeam: string;
  let colleague: TestUser;
  let member: TestUser;
  let memberOfBoth: TestUser;
  let memberOfNone: TestUser;

  beforeAll(async () => {
    const { dataSource } = server;
    otherTeam = await insertTeam(dataSource);
    colleague = await insertUser(dataSource, { teams: [team] });
    member = await insertUser(dataSource, { teams: [otherTeam] });
    memberOfBoth = await insertUser(dataSource, { teams: [team, otherTeam] });
    memberOfNone = await insertUser(dataSource, { teams: [] });
  });

  const as = (user: TestUser, headers: Record<string, string> = {}) =>
    new RunsClient(server, { ...user.headers, ...headers });
  const idsOf = async (client: RunsClient) => (await client.list('limit=500')).runs.map((run) => run.run_id);

  it('is the only team of its creator, unless the creator wants it for themselves', async () => {
    const client = as(member);
    const scopeOf = async (request: object) => (await client.read(await client.create(request))).scope;
    expect(await scopeOf({})).toEqual({ type: 'Team', uid: otherTeam });
    expect(await scopeOf({ team: true })).toEqual({ type: 'Team', uid: otherTeam });
    expect(await scopeOf({ team: false })).toEqual({ type: 'User', uid: member.uid });
  });

  it('is, for a user of two teams, themselves or the team that they name', async () => {
    const client = as(memberOfBoth);
    const named = as(memberOfBoth, { 'X-Team-Uid': otherTeam });
    expect((await client.read(await client.create())).scope).toEqual({ type: 'User', uid: memberOfBoth.uid });
    expect((await named.read(await named.create())).scope.type).toBe('User');
    expect((await named.read(await named.create({ team: true }))).scope).toEqual({
      type: 'Team',
      uid: otherTeam,
    });
    expect(await client.call('POST', 'runs', { prompt: 'x', team: true })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'team' }] },
    });
  });

  it('is, for a user without a team, themselves', async () => {
    const client = as(memberOfNone);
    expect((await client.read(await client.create())).scope).toEqual({ type: 'User', uid: memberOfNone.uid });
    expect((await client.call('POST', 'runs', { prompt: 'x', team: true })).status).toBe(400);
  });

  it('shows it to the members of the active team and hides what is personal from them', async () => {
    const shared = await runs.create();
    const personal = await runs.create({ team: false });
    expect(await idsOf(runs)).toEqual(expect.arrayContaining([shared, personal]));
    expect(await idsOf(as(colleague))).toContain(shared);
    expect(await idsOf(as(colleague))).not.toContain(personal);
    expect((await as(colleague).call('GET', `runs/${personal}`)).status).toBe(404);
  });

  it('hides everything from another team', async () => {
    const runId = await runs.create();
    const stranger = as(member);
    for (const part of ['', '/timeline', '/conversation', '/transcript']) {
      expect(await stranger.call('GET', `runs/${runId}${part}`)).toMatchObject({
        status: 404,
        body: { error_code: 'resource_not_found' },
      });
    }
    expect((await stranger.cancel(runId)).status).toBe(404);
    expect(await idsOf(stranger)).not.toContain(runId);
    expect((await runs.read(runId)).state).toBe('QUEUED');
    expect(await runs.eventTypes(runId)).toEqual(['oz_run_created']);
  });

  it.each(['X-Team-Uid', 'X-Warp-Team-Uid'])('is seen by a user of two teams through %s', async (header) => {
    const ofFirst = await runs.create();
    const ofOther = await as(member).create();
    const own = await as(memberOfBoth).create();
    const sees = async (client: RunsClient) => {
      const listed = await idsOf(client);
      const answers = await Promise.all(
        [ofFirst, ofOther, own].map((id) => client.call('GET', `runs/${id}`)),
      );
      expect([ofFirst, ofOther, own].map((id) => (listed.includes(id) ? 200 : 404))).toEqual(
        answers.map(({ status }) => status),
      );
      return answers.map(({ status }) => status);
    };
    expect(await sees(as(memberOfBoth))).toEqual([404, 404, 200]);
    expect(await sees(as(memberOfBoth, { [header]: team }))).toEqual([200, 404, 200]);
    expect(await sees(as(memberOfBoth, { [header]: otherTeam.toUpperCase() }))).toEqual([404, 200, 200]);
    expect((await as(member, { [header]: team }).call('GET', 'runs')).status).toBe(403);
  });
});

describe('the key of a run', () => {
  let worker: SimulatedWorker;

  beforeEach(async () => {
    await server.dataSource.query('DELETE FROM runs');
    worker = await SimulatedWorker.connect(server);
  });
  afterEach(async () => {
    await worker.close();
  });

  it('reads that run and nothing else, and cancels nothing', async () => {
    const [runId, other] = [await runs.create(), await runs.create()];
    const assignments = [await worker.nextAssignment(), await worker.nextAssignment()];
    const runner = worker.runner(assignments.find(({ task_id }) => task_id === runId)!);

    expect((await runner.call('GET', `agent/runs/${runId}`)).body).toMatchObject({ run_id: runId });
    expect((await runner.call('GET', `agent/runs/${runId}/timeline`)).status).toBe(200);
    const { body } = await runner.call('GET', 'agent/runs');
    expect((body as { runs: Run[] }).runs.map((run) => run.run_id)).toEqual([runId]);

    expect((await runner.call('GET', `agent/runs/${other}`)).status).toBe(404);
    expect((await runner.call('GET', `agent/runs/${other}/timeline`)).status).toBe(404);
    expect(
      (await runner.call('POST', `agent/events/${other}`, { event_type: 'run_in_progress' })).status,
    ).toBe(404);
    expect((await runner.call('POST', `agent/runs/${runId}/cancel`)).status).toBe(403);
    expect((await runs.read(other)).state).toBe('PENDING');
  });

  it('is refused together with the run or the token of another execution', async () => {
    await runs.create();
    await runs.create();
    const [one, two] = [await worker.nextAssignment(), await worker.nextAssignment()];
    const mixed = (changes: object) => worker.runner({ ...one, ...changes }).heartbeat();
    expect((await mixed({})).status).toBe(204);
    expect((await mixed({ task_id: two.task_id })).status).toBe(403);
    const token = two.env_vars['WARP_WORKLOAD_TOKEN']!;
    expect((await mixed({ env_vars: { ...one.env_vars, WARP_WORKLOAD_TOKEN: token } })).status).toBe(403);
  });

  it('is the only kind with which a run is reported on', async () => {
    for (const path of ['heartbeat', 'resolve-prompt', 'finish-task', 'report-shutdown']) {
      const answer = await server.call('POST', `/v1/harness-support/${path}`, { success: true, summary: '' });
      expect(answer.status).toBe(403);
    }
  });
});

describe('the list of runs', () => {
  let reader: RunsClient;

  /** A team of its own for each test: its list holds nothing but what the test has made. */
  beforeEach(async () => {
    const uid = await insertTeam(server.dataSource);
    reader = new RunsClient(server, (await insertUser(server.dataSource, { teams: [uid] })).headers);
  });

  const createMany = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    // A few at a time, so that many share their millisecond.
    for (let created = 0; created < count; created += 10) {
      ids.push(...(await Promise.all(Array.from({ length: 10 }, () => reader.create()))));
    }
    return ids;
  };

  it('is empty at first', async () => {
    expect(await reader.list()).toEqual({ runs: [], page_info: { has_next_page: false } });
  });

  it('has 20 runs a page by default, the latest change first', async () => {
    await createMany(30);
    const { runs: page, page_info: info } = await reader.list();
    expect(page).toHaveLength(20);
    expect(info).toEqual({ has_next_page: true, next_cursor: expect.any(String) });
    const keys = page.map((run) => `${run.updated_at} ${run.run_id}`);
    expect(keys).toEqual([...keys].sort().reverse());
  });

  it('ends on the page that holds the last run', async () => {
    const ids = await createMany(10);
    const { runs: page, page_info: info } = await reader.list('limit=10');
    expect(page.map((run) => run.run_id).sort()).toEqual(ids.sort());
    expect(info).toEqual({ has_next_page: false });
  });

  it.each([7, 50])('shows every run once while new ones arrive, %d a page', async (limit) => {
    const ids = await createMany(200);
    const seen: string[] = [];
    const arriving: string[] = [];
    let query = `limit=${limit}`;
    for (;;) {
      const { runs: page, page_info: info } = await reader.list(query);
      seen.push(...page.map((run) => run.run_id));
      expect(page.length).toBeLessThanOrEqual(limit);
      if (info.next_cursor === undefined) break;
      query = `limit=${limit}&cursor=${encodeURIComponent(info.next_cursor)}`;
      arriving.push(await reader.create());
    }
    expect(seen.sort()).toEqual(ids.sort());
    expect(arriving.length).toBeGreaterThan(1);
    expect((await reader.list('limit=500')).runs).toHaveLength(ids.length + arriving.length);
  });

  it('keeps apart runs that changed in the same millisecond', async () => {
    const ids = await createMany(30);
    await server.dataSource.query(
      `UPDATE runs SET updated_at = '2026-01-01T00:00:00.123Z' WHERE id = ANY ($1)`,
      [ids],
    );
    const seen: string[] = [];
    let cursor: string | undefined = '';
    while (cursor !== undefined) {
      const page = await reader.list(
        `limit=4${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      );
      seen.push(...page.runs.map((run) => run.run_id));
      cursor = page.page_info.next_cursor;
    }
    expect(seen).toEqual(ids.sort().reverse());
  });

  it('takes no cursor but its own', async () => {
    await createMany(10);
    const { page_info: info } = await reader.list('limit=1');
    const cursor = info.next_cursor!;
    const [content, signature] = cursor.split('.') as [string, string];
    const forged = Buffer.from(
      Buffer.from(content, 'base64url')
        .toString()
        .replace(/\d{4}-/, '9999-'),
    ).toString('base64url');
    for (const garbage of [
      'x',
      '.',
      `${content}.`,
      `.${signature}`,
      `${forged}.${signature}`,
      `${cursor}x`,
      '\0',
      '',
    ]) {
      expect(await reader.call('GET', `runs?cursor=${encodeURIComponent(garbage)}`)).toMatchObject({
        status: 400,
        body: { error_code: 'invalid_request', errors: [{ field: 'cursor' }] },
      });
    }
    expect((await reader.call('GET', `runs?cursor=${cursor}&cursor=${cursor}`)).status).toBe(400);
    expect((await reader.call('GET', `runs?cursor=${cursor}`)).status).toBe(200);
  });
});

describe('the cancel of a run', () => {
  let worker: SimulatedWorker;

  beforeEach(async () => {
    await server.dataSource.query('DELETE FROM runs');
  });

  it('of a queued one answers its id and ends it', async () => {
    const runId = await runs.create();
    const answer = await runs.cancel(runId.toUpperCase());
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(answer.body).toBe(runId);
    expect(await runs.read(runId)).toMatchObject({
      state: 'CANCELLED',
      started_at: null,
      is_sandbox_running: false,
      status_message: { message: 'Cancelled by request' },
    });
    expect((await runs.timeline(runId)).slice(1)).toMatchObject([
      { event_type: 'cancel_requested', payload: { by: expect.any(String) } },
      { event_type: 'oz_run_cancelled' },
    ]);
  });

  it('of one that has ended is a 400 that changes nothing', async () => {
    const runId = await runs.create();
    await runs.cancel(runId);
    const before = [await runs.read(runId), await runs.timeline(runId)];
    const again = await runs.cancel(runId);
    expect(again).toMatchObject({ status: 400, body: { error_code: 'invalid_request', retryable: false } });
    expect(again.body).toMatchObject({ detail: expect.stringContaining('CANCELLED') });
    expect([await runs.read(runId), await runs.timeline(runId)]).toEqual(before);
  });

  it.each(['SUCCEEDED', 'FAILED', 'BLOCKED', 'ERROR'])('of one that is %s is a 400', async (state) => {
    const runId = await runs.create();
    await server.dataSource.query('UPDATE runs SET state = $2 WHERE id = $1', [runId, state]);
    expect(await runs.cancel(runId)).toMatchObject({ status: 400, body: { error_code: 'invalid_request' } });
    expect((await runs.read(runId)).state).toBe(state);
  });

  it('of a PENDING one is a 409 that can be tried again', async () => {
    worker = await SimulatedWorker.connect(server);
    const runId = await runs.create();
    const assignment = await worker.nextAssignment();
    expect(await runs.cancel(runId)).toMatchObject({
      status: 409,
      body: { error_code: 'conflict', retryable: true },
    });
    expect(await runs.eventTypes(runId)).toEqual(['oz_run_created', 'run_assigned']);

    worker.claim(assignment);
    await runs.untilState(runId, 'CLAIMED');
    expect((await runs.cancel(runId)).status).toBe(200);
    await worker.close();
  });

  it('of a self-hosted one is a 422, whatever its state', async () => {
    const runId = await runs.create({ config: { worker_host: 'machine-1' } });
    expect(await runs.read(runId)).toMatchObject({ is_run_type_cancellable: false });
    for (const state of ['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'SUCCEEDED', 'CANCELLED']) {
      await server.dataSource.query('UPDATE runs SET state = $2 WHERE id = $1', [runId, state]);
      expect(await runs.cancel(runId)).toMatchObject({
        status: 422,
        body: { error_code: 'operation_not_supported', retryable: false },
      });
      expect((await runs.read(runId)).state).toBe(state);
    }
  });

  it.each(['', 'warp'])('of one for the worker host %j is that of a hosted one', async (workerHost) => {
    const runId = await runs.create({ config: { worker_host: workerHost } });
    expect((await runs.cancel(runId)).status).toBe(200);
  });

  it.each(['LOCAL', 'GITHUB_ACTION'])('of one from %s is a 422', async (source) => {
    const runId = await runs.create();
    await server.dataSource.query('UPDATE runs SET source = $2 WHERE id = $1', [runId, source]);
    expect((await runs.cancel(runId)).status).toBe(422);
  });

  it.each([UNKNOWN, 'nonsense'])('of %s is a 404', async (runId) => {
    expect(await runs.cancel(runId)).toMatchObject({
      status: 404,
      body: { error_code: 'resource_not_found' },
    });
  });
});
