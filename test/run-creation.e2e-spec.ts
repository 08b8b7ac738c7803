import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { SweepExecutions } from '../src/execution/application/sweep-executions.js';
import type { Tx } from '../src/kernel/persistence/database.js';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { ReleaseIdempotencyKeys } from '../src/runs/application/release-idempotency-keys.js';
import {
  CreateRun,
  type CreateRunOutcome,
  type NewRun,
  RunLifecycle,
  type WorkerPool,
} from '../src/runs/index.js';
import { insertTeam, insertUser } from './support/identities.js';
import { type Run, RunsClient } from './support/runs.js';
import { SimulatedWorker } from './support/simulated-worker.js';
import { type Answer, eventually, startTestApp, type TestApp } from './support/test-app.js';

const LIMIT = 3;
const CONNECTION = '00000000-0000-4000-8000-000000000000';

/** Two replicas on one database, with a limit for each team. */
let one: TestApp;
let two: TestApp;
let runs: RunsClient;
let member: Awaited<ReturnType<typeof insertUser>>;
let team: string;

beforeAll(async () => {
  one = await startTestApp({ TEAM_MAX_CONCURRENT_RUNS: String(LIMIT) });
  two = await startTestApp({ TEAM_MAX_CONCURRENT_RUNS: String(LIMIT) }, one);
  team = await insertTeam(one.dataSource);
  member = await insertUser(one.dataSource, { teams: [team] });
  runs = new RunsClient(one, member.headers);
});
afterEach(() => one.dataSource.query('DELETE FROM runs'));
afterAll(async () => {
  await two.close();
  await one.close();
});

interface Created {
  run_id: string;
  state: string;
  at_capacity?: boolean;
  run_key?: string;
}

const post = (
  headers: Record<string, string> = {},
  body: object = {},
  server = one,
  path = 'runs',
): Promise<Answer> =>
  server.call(
    'POST',
    `/v1/agent/${path}`,
    { prompt: 'Do something', ...body },
    { ...member.headers, ...headers },
  );

async function created(headers: Record<string, string> = {}, body: object = {}): Promise<Created> {
  const answer = await post(headers, body);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as Created;
}

const countRuns = async (): Promise<number> => {
  const [row] = await one.dataSource.query<{ count: number }[]>('SELECT count(*)::int AS count FROM runs');
  return row?.count ?? -1;
};

const bearer = (key: string | undefined) => ({ Authorization: `Bearer ${key ?? ''}` });

describe('an Idempotency-Key', () => {
  it('answers the same request with the first run, on both routes and every replica', async () => {
    const first = await post({ 'Idempotency-Key': 'same' }, { title: 'A', metadata: { b: '1', a: '2' } });
    const again = await post(
      { 'Idempotency-Key': 'same' },
      { metadata: { a: '2', b: '1' }, title: 'A' },
      two,
      'run',
    );
    expect(again).toMatchObject({ status: 200, body: first.body as object });
    expect(await countRuns()).toBe(1);
  });

  it.each([
    ['another body', {}, { prompt: 'Another' }],
    ['another source', { 'X-Api-Source': 'CLI' }, {}],
  ])('with %s is a 409 that is not worth a retry', async (_, headers, body) => {
    await created({ 'Idempotency-Key': 'other' });
    expect(await post({ 'Idempotency-Key': 'other', ...headers }, body)).toMatchObject({
      status: 409,
      body: { error_code: 'conflict', retryable: false },
    });
    expect(await countRuns()).toBe(1);
  });

  it('belongs to its account', async () => {
    const stranger = await insertUser(one.dataSource, { teams: [team] });
    const mine = await created({ 'Idempotency-Key': 'shared' });
    const theirs = await created({ 'Idempotency-Key': 'shared', ...stranger.headers });
    expect(theirs.run_id).not.toBe(mine.run_id);
  });

  it('sent many times at once, to two replicas, creates one run', async () => {
    for (let round = 0; round < 5; round++) {
      const headers = { 'Idempotency-Key': `round ${String(round)}` };
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => post(headers, {}, index % 2 === 0 ? one : two)),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(answers.map(({ body }) => (body as Created).run_id)).size).toBe(1);
    }
    expect(await countRuns()).toBe(5);
  });

  it('waits for a first request that is not committed yet: for its run, or to be first when it fails', async () => {
    const originKey = `idempotency:${member.uid}:${createHash('sha256').update('slow').digest('base64url')}`;
    let later: Promise<Answer> | undefined;
    const failed = one.app.get(Transactor).run(async (tx) => {
      await one.app.get(CreateRun).execute(tx, { ...newRun(), originKey });
      later = post({ 'Idempotency-Key': 'slow' });
      await untilBlocked();
      throw new Error('undone');
    });
    await expect(failed).rejects.toThrow('undone');
    expect(await later).toMatchObject({ status: 200 });
    expect(await countRuns()).toBe(1);
  });

  it.each([
    ['when it comes again', () => Promise.resolve()],
    ['by the sweep', () => one.app.get(ReleaseIdempotencyKeys).execute()],
  ])('is free after 24 hours, %s', async (_, sweep) => {
    const first = await created({ 'Idempotency-Key': 'old' });
    await one.dataSource.query(
      `UPDATE run_idempotency_keys SET expires_at = expires_at - interval '23 hours 59 minutes'`,
    );
    await sweep();
    expect((await created({ 'Idempotency-Key': 'old' })).run_id).toBe(first.run_id);
    await one.dataSource.query(
      `UPDATE run_idempotency_keys SET expires_at = expires_at - interval '2 minutes'`,
    );
    await sweep();
    const second = await created({ 'Idempotency-Key': 'old' }, { prompt: 'Another' });
    expect(second.run_id).not.toBe(first.run_id);
    expect((await created({ 'Idempotency-Key': 'old' }, { prompt: 'Another' })).run_id).toBe(second.run_id);
  });

  it.each(['', 'a'.repeat(256), 'a\tb', 'é'])('%j is a 400 that names it', async (key) => {
    expect(await post({ 'Idempotency-Key': key })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'Idempotency-Key' }] },
    });
  });

  it('may be as long as 255 characters', async () => {
    await created({ 'Idempotency-Key': '~'.repeat(255) });
  });
});

const newRun = (): NewRun => ({
  prompt: 'Do something',
  owner: { teamUid: team, ownerUid: null },
  creatorUid: member.uid,
  executorUid: member.uid,
  source: 'WEBHOOK',
  config: { model_id: 'script' },
});

const untilBlocked = () =>
  eventually(
    async () => {
      const blocked = await one.dataSource.query<object[]>(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return blocked.length > 0 ? true : undefined;
    },
    { what: 'a wait for a lock' },
  );

describe('the port createRun', () => {
  const create = (given: NewRun[]) =>
    one.app.get(Transactor).run((tx) => one.app.get(CreateRun).executeAll(tx, given));

  it('creates of each origin one, and tells which', async () => {
    const idOf = (outcome: CreateRunOutcome | undefined) =>
      outcome && 'runId' in outcome ? outcome.runId : undefined;
    const [first] = await create([{ ...newRun(), originKey: 'delivery:a' }]);
    const outcomes = await create([
      { ...newRun(), originKey: 'delivery:b' },
      { ...newRun(), originKey: 'delivery:a' },
      newRun(),
      { ...newRun(), originKey: 'delivery:b' },
    ]);
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual([
      'created',
      'created',
      'existing',
      'existing',
    ]);
    expect(outcomes[1]).toEqual({ outcome: 'existing', runId: idOf(first), state: 'QUEUED' });
    expect(idOf(outcomes[3])).toBe(idOf(outcomes[0]));
    expect(await countRuns()).toBe(3);
    const searched = await one.dataSource.query<object[]>('SELECT 1 FROM run_search');
    expect(searched).toHaveLength(3);
  });
});

describe('X-Api-Source', () => {
  it.each([
    [{}, 'API'],
    [{ 'X-Api-Source': 'CLI' }, 'CLI'],
    [{ 'X-Oz-Api-Source': 'WEB_APP' }, 'WEB_APP'],
  ])('%j makes a run of %s', async (headers: Record<string, string>, source) => {
    const { run_id, run_key } = await created(headers);
    expect(await runs.read(run_id)).toMatchObject({ source, execution_location: 'REMOTE' });
    expect(run_key).toBeUndefined();
  });

  it.each(['SCHEDULED_AGENT', 'api', ''])('%j is a 400 that names it', async (source) => {
    expect(await post({ 'X-Api-Source': source })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'X-Api-Source' }] },
    });
  });

  it.each([
    ['LOCAL', 'LOCAL'],
    ['GITHUB_ACTION', 'REMOTE'],
  ])('%s: its creator executes it and reports, no worker gets it', async (source, location) => {
    const worker = await SimulatedWorker.connect(one);
    const { run_id, state, run_key } = await created({ 'X-Api-Source': source });
    expect(state).toBe('QUEUED');
    const other = await runs.create();
    expect((await worker.nextAssignment()).task_id).toBe(other);
    await worker.untilHandled();
    expect(worker.assignments).toHaveLength(1);
    await worker.close();

    expect(await runs.cancel(run_id)).toMatchObject({ status: 422 });
    await one.app.get(SweepExecutions).sweep();
    expect(await runs.read(run_id)).toMatchObject({ state: 'QUEUED', source, execution_location: location });
    const report = (method: string, path: string, body?: object): Promise<Answer> =>
      one.call(method, `/v1/${path}`, body, bearer(run_key));
    expect(await report('GET', 'harness-support/execution')).toMatchObject({ status: 200, body: { run_id } });
    expect(await report('POST', `agent/events/${run_id}`, { event_type: 'run_in_progress' })).toMatchObject({
      status: 200,
    });
    expect((await runs.read(run_id)).state).toBe('INPROGRESS');
    expect(await runs.cancel(run_id)).toMatchObject({ status: 422 });
    const finish = { success: true, summary: 'Done' };
    expect(await report('POST', 'harness-support/finish-task', finish)).toMatchObject({ status: 204 });
    expect(await report('POST', 'harness-support/report-shutdown', {})).toMatchObject({ status: 204 });
    expect(await runs.read(run_id)).toMatchObject({ state: 'SUCCEEDED', is_sandbox_running: false });
    expect(await report('POST', 'harness-support/heartbeat')).toMatchObject({ status: 401 });
    expect((await runs.eventTypes(run_id)).filter((type) => type !== 'run_waiting')).toEqual([
      'oz_run_created',
      'run_in_progress',
      'oz_run_done',
      'vm_shutdown',
    ]);
  });

  it('LOCAL: ends as ERROR when its creator is not heard of', async () => {
    const { run_id } = await created({ 'X-Api-Source': 'LOCAL' });
    await one.dataSource.query(
      `UPDATE run_executions SET lease_expires_at = now() - interval '1 s' WHERE run_id = $1`,
      [run_id],
    );
    const lifecycle = one.app.get(RunLifecycle);
    const [execution] = await one.dataSource.query<{ id: string }[]>(
      'SELECT id FROM run_executions WHERE run_id = $1',
      [run_id],
    );
    await one.app
      .get(Transactor)
      .run((tx) =>
        lifecycle.expire(
          tx,
          { runId: run_id, executionId: Number(execution?.id) },
          { event: 'error', statusMessage: null },
        ),
      );
    expect((await runs.read(run_id)).state).toBe('ERROR');
  });

  it('does not let the report of an assignment that came to nothing move the queued run', async () => {
    const runId = await runs.create();
    const lifecycle = one.app.get(RunLifecycle);
    const transactor = one.app.get(Transactor);
    const pool = { kind: 'hosted' as const };
    await transactor.run(async (tx) => {
      const [assigned] = await lifecycle.assign(tx, { pool, workerId: 'w', connectionId: CONNECTION }, 1);
      if (assigned?.runId !== runId) throw new Error('another run');
      await lifecycle.requeue(tx, assigned, 'rejected');
      await lifecycle.close(tx, assigned, 'late', { event: 'fail', statusMessage: null });
    });
    expect((await runs.read(runId)).state).toBe('QUEUED');
  });
});

describe('parent_run_id', () => {
  const readMore = async (runId: string) =>
    (await runs.read(runId)) as Run & {
      parent_run_id?: string;
      metadata: object;
      source: string;
      mode: string;
    };

  it('hands down metadata, the request over the parent, and is found by every ancestor', async () => {
    const root = await runs.create({ metadata: { a: 'root', b: 'root' } });
    const child = await runs.create({ parent_run_id: root, metadata: { b: 'child', c: 'child' } });
    const grandchild = await runs.create({ parent_run_id: child.toUpperCase() });
    expect((await readMore(root)).parent_run_id).toBeUndefined();
    expect(await readMore(grandchild)).toMatchObject({
      parent_run_id: child,
      metadata: { a: 'root', b: 'child', c: 'child' },
    });
    const found = await runs.list(`ancestor_run_id=${root}`);
    expect(found.runs.map(({ run_id }) => run_id).sort()).toEqual([child, grandchild].sort());
    const byInherited = await runs.list('metadata%5Ba%5D=root');
    expect(byInherited.runs).toHaveLength(3);
  });

  it('counts what is inherited against the limit', async () => {
    const pairs = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${String(index)}`, '']));
    const parent_run_id = await runs.create({ metadata: pairs('a', 15) });
    await runs.create({ parent_run_id, metadata: pairs('b', 5) });
    expect(await post({}, { parent_run_id, metadata: pairs('b', 6) })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'metadata' }] },
    });
  });

  it('is a 400 for a run that there is not or that the caller cannot see, and eight generations down', async () => {
    const strangers = new RunsClient(one);
    const refusal = { status: 400, body: { errors: [{ field: 'parent_run_id' }] } };
    expect(await post({}, { parent_run_id: await strangers.create() })).toMatchObject(refusal);
    expect(await post({}, { parent_run_id: '019c3f0e-0000-7000-8000-0000000000ff' })).toMatchObject(refusal);
    expect(await post({}, { parent_run_id: 'root' })).toMatchObject(refusal);
    let parent_run_id = await runs.create();
    for (let depth = 1; depth <= 8; depth++) parent_run_id = await runs.create({ parent_run_id });
    expect(await post({}, { parent_run_id })).toMatchObject(refusal);
  });

  it("is its own run for a run's key, which creates in the name of the run while it lives", async () => {
    const agent = (await one.call('POST', '/v1/agent/identities', { name: 'Orchestrator' }, member.headers))
      .body as { uid: string };
    const parent = await created(
      { 'X-Api-Source': 'LOCAL' },
      { agent_identity_uid: agent.uid, metadata: { a: '1' } },
    );
    const asRun = bearer(parent.run_key);
    const child = await created({ ...asRun, 'X-Api-Source': 'LOCAL' });
    expect(child.run_key).toBeUndefined();
    expect(await readMore(child.run_id)).toMatchObject({
      parent_run_id: parent.run_id,
      source: 'ORCHESTRATION',
      metadata: { a: '1' },
      scope: { type: 'Team', uid: team },
      creator: { uid: member.uid },
      executor: { uid: agent.uid },
    });
    const other = await runs.create();
    const conversation_id = '019c3f0e-8a10-7c1f-b1f6-0d4f3ad1a0b7';
    await one.dataSource.query(`INSERT INTO conversations (id, format) VALUES ($1, 'millwright_script')`, [
      conversation_id,
    ]);
    await one.dataSource.query('UPDATE runs SET conversation_id = $1 WHERE id = $2', [
      conversation_id,
      other,
    ]);
    for (const body of [{ parent_run_id: other }, { team: false }, { conversation_id }]) {
      expect(await post(asRun, body)).toMatchObject({ status: 400 });
    }
    expect(await post(asRun, { on_behalf_of: member.uid })).toMatchObject({ status: 403 });
    await one.call('POST', '/v1/harness-support/report-shutdown', {}, asRun);
    expect(await post(asRun)).toMatchObject({ status: 401 });
  });

  it("is refused to a run's key once the execution is to stop", async () => {
    const parent = await created({ 'X-Api-Source': 'LOCAL' });
    await one.dataSource.query('UPDATE run_executions SET stop_requested_at = now() WHERE run_id = $1', [
      parent.run_id,
    ]);
    expect(await post(bearer(parent.run_key))).toMatchObject({ status: 409, body: { retryable: false } });
  });

  it("makes the children of a person's own run theirs", async () => {
    const parent = await created({ 'X-Api-Source': 'LOCAL' }, { team: false });
    const child = await created(bearer(parent.run_key));
    expect(await readMore(child.run_id)).toMatchObject({
      scope: { type: 'User', uid: member.uid },
      executor: { uid: member.uid },
    });
  });
});

describe('mode and interactive', () => {
  it('are stored and answered', async () => {
    expect(await runs.read(await runs.create())).toMatchObject({ mode: 'normal', interactive: false });
    const runId = await runs.create({ mode: 'plan', interactive: true });
    expect(await runs.read(runId)).toMatchObject({ mode: 'plan', interactive: true });
    expect(await post({}, { mode: 'fast' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'mode' }] },
    });
    expect(await post({}, { interactive: 'yes' })).toMatchObject({ status: 400 });
  });
});

describe("a team's limit", () => {
  it('is never exceeded by many workers of two replicas, and no slot stays empty', async () => {
    const other = await insertTeam(one.dataSource);
    const otherMember = await insertUser(one.dataSource, { teams: [other] });
    const overThere = new RunsClient(two, otherMember.headers);
    const total = 30;
    await Promise.all(
      Array.from({ length: total }, (_, index) =>
        (index % 2 === 0 ? runs : overThere).create(
          index % 3 === 0 ? { config: { worker_host: 'machine' } } : {},
        ),
      ),
    );
    let most = 0;
    const watching = new AbortController();
    const watch = (async () => {
      while (!watching.signal.aborted) {
        const rows = await one.dataSource.query<{ count: number }[]>(
          `SELECT count(*)::int AS count FROM runs WHERE state IN ('PENDING', 'CLAIMED', 'INPROGRESS') GROUP BY team_uid`,
        );
        most = Math.max(most, ...rows.map(({ count }) => count));
      }
    })();
    const pools: WorkerPool[] = [
      { kind: 'hosted' },
      { kind: 'self_hosted', teamUid: team, workerHost: 'machine' },
      { kind: 'self_hosted', teamUid: other, workerHost: 'machine' },
    ];
    let ended = 0;
    const deadline = performance.now() + 30_000;
    const work = async (server: TestApp, pool: WorkerPool, workerId: string): Promise<void> => {
      const lifecycle = server.app.get(RunLifecycle);
      const transactor = server.app.get(Transactor);
      while (ended < total && performance.now() < deadline) {
        const assigned = await transactor.run((tx) =>
          lifecycle.assign(tx, { pool, workerId, connectionId: CONNECTION }, 4),
        );
        await new Promise((resolve) => setTimeout(resolve, assigned.length > 0 ? 20 : 5));
        for (const run of assigned) {
          await transactor.run((tx) =>
            lifecycle.close(tx, run, 'done', { event: 'succeed', statusMessage: null }),
          );
          ended += 1;
        }
      }
    };
    await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        work(index % 2 === 0 ? one : two, pools[index % 3]!, `worker-${String(index)}`),
      ),
    );
    watching.abort();
    await watch;
    expect(ended).toBe(total);
    expect(most).toBe(LIMIT);
  }, 60_000);

  it('holds over both pools while another claimer has not committed what it took', async () => {
    for (let index = 0; index < LIMIT; index++) {
      await created();
      await created({}, { config: { worker_host: 'machine' } });
    }
    const assign = (server: TestApp, tx: Tx, pool: WorkerPool) =>
      server.app.get(RunLifecycle).assign(tx, { pool, workerId: 'machine', connectionId: CONNECTION }, LIMIT);
    let later: Promise<unknown[]> | undefined;
    const first = await one.app.get(Transactor).run(async (tx) => {
      const assigned = await assign(one, tx, { kind: 'hosted' });
      later = two.app
        .get(Transactor)
        .run((other) => assign(two, other, { kind: 'self_hosted', teamUid: team, workerHost: 'machine' }));
      // A claimer that does not wait is done before this one commits.
      await Promise.race([later, untilBlocked()]);
      return assigned;
    });
    expect(first).toHaveLength(LIMIT);
    expect(await later).toEqual([]);
  });

  it('is told at creation, and on the run that waits; personal runs and other teams pass', async () => {
    const worker = await SimulatedWorker.connect(one, { workerId: 'roomy', slots: 20 });
    try {
      for (let index = 0; index < LIMIT; index++) {
        expect((await created()).at_capacity).toBeUndefined();
        worker.claim(await worker.nextAssignment());
      }
      await worker.untilHandled();
      const waiting = await created();
      expect(waiting.at_capacity).toBe(true);
      const personal = await runs.create({ team: false });
      expect((await worker.nextAssignment()).task_id).toBe(personal);
      const others = await new RunsClient(one).create();
      expect((await worker.nextAssignment()).task_id).toBe(others);

      const { status_message } = await runs.until(
        waiting.run_id,
        (run) => run.status_message !== undefined,
        'a reason',
      );
      expect(status_message?.message).toContain('the team is at its limit of 3 runs');
      expect((await runs.untilEvent(waiting.run_id, 'run_waiting')).payload?.reason).toBe(
        status_message?.message,
      );
      expect((await runs.read(waiting.run_id)).state).toBe('QUEUED');
      worker.complete(worker.assignments[0]!);
      expect((await worker.nextAssignment()).task_id).toBe(waiting.run_id);
    } finally {
      await worker.vanish();
    }
  });

  it('does not count the runs that their creators execute', async () => {
    for (let index = 0; index < LIMIT; index++) {
      const { run_id, run_key } = await created({ 'X-Api-Source': 'LOCAL' });
      await one.call(
        'POST',
        `/v1/agent/events/${run_id}`,
        { event_type: 'run_in_progress' },
        bearer(run_key),
      );
    }
    expect((await created()).at_capacity).toBeUndefined();
  });
});

describe('attachments', () => {
  const file = (bytes: Buffer | string, fileName = 'trace.log') => ({
    file_name: fileName,
    mime_type: 'text/plain',
    data: Buffer.from(bytes).toString('base64'),
  });

  it.each(['attachments', 'images'])('as %s are stored, and listed for the runner', async (field) => {
    const bytes = Buffer.from([0, 255, 10, 13]);
    const { run_key } = await created(
      { 'X-Api-Source': 'LOCAL' },
      { [field]: [file(bytes, 'ü 1.bin'), file('', 'empty')] },
    );
    const view = await one.call('GET', '/v1/harness-support/execution', undefined, bearer(run_key));
    const { attachments } = view.body as { attachments: { download_url: string }[] };
    expect(attachments).toMatchObject([
      { file_name: 'ü 1.bin', mime_type: 'text/plain' },
      { file_name: 'empty', mime_type: 'text/plain' },
    ]);
    const [first, second] = await Promise.all(
      attachments.map(async ({ download_url }) => fetch(download_url)),
    );
    expect(Buffer.from(await first!.arrayBuffer())).toEqual(bytes);
    expect(first!.headers.get('content-type')).toBe('text/plain');
    expect((await second!.arrayBuffer()).byteLength).toBe(0);
  });

  it('may be five of 10 MiB', async () => {
    const large = file(Buffer.alloc(10 * 1024 * 1024, 7));
    const { run_id } = await created({}, { attachments: Array.from({ length: 5 }, () => large) });
    const rows: unknown = await one.dataSource.query(
      'SELECT sum(size_bytes)::int AS bytes FROM run_attachments WHERE run_id = $1',
      [run_id],
    );
    expect(rows).toEqual([{ bytes: 50 * 1024 * 1024 }]);
  }, 30_000);

  it.each([
    ['data', { ...file('x'), data: 'eA' }],
    ['data', { ...file('x'), data: 'eA==\n' }],
    ['data', { ...file('x'), data: 'eB==' }],
    ['data', { ...file('x'), data: '-_-_' }],
    ['data', file(Buffer.alloc(10 * 1024 * 1024 + 1))],
    ['file_name', file('x', '../x')],
    ['file_name', file('x', 'a\\b')],
    ['file_name', file('x', '..')],
    ['file_name', file('x', '')],
    ['mime_type', { ...file('x'), mime_type: 'text' }],
    ['mime_type', { ...file('x'), mime_type: 'text/plain\r\nX: y' }],
  ])('with a wrong %s are a 400 that names it', async (field, attachment) => {
    expect(await post({}, { attachments: [attachment] })).toMatchObject({
      status: 400,
      body: { errors: [{ field: `attachments.0.${field}` }] },
    });
  });

  it('are a 400 when they are six, or stand under both names', async () => {
    const six = Array.from({ length: 6 }, () => file('x'));
    expect(await post({}, { images: six })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'images' }] },
    });
    expect(await post({}, { images: [], attachments: [] })).toMatchObject({ status: 400 });
    expect(await countRuns()).toBe(0);
  });
});
