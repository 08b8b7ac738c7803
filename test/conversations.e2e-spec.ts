import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { Transactor } from '../src/kernel/persistence/transactor.js';
import { ObjectStorage } from '../src/kernel/storage/object-storage.js';
import { RunLifecycle } from '../src/runs/index.js';
import { insertTeam, insertUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import { startTestApp, type TestApp } from './support/test-app.js';

let server: TestApp;
let replica: TestApp;
let runs: RunsClient;
let stranger: RunsClient;

beforeAll(async () => {
  server = await startTestApp();
  replica = await startTestApp({}, server);
  runs = new RunsClient(server);
  const { headers } = await insertUser(server.dataSource, { teams: [await insertTeam(server.dataSource)] });
  stranger = new RunsClient(server, headers);
});
afterAll(async () => {
  await replica.close();
  await server.close();
});

/** A run in the state, and the conversation that its agent has had. */
async function insertConversation(
  state: string,
  format = 'millwright_script',
): Promise<{ runId: string; id: string }> {
  const runId = await runs.create();
  const id = randomUUID();
  await server.dataSource.query(
    `INSERT INTO conversations (id, format, transcript_key) VALUES ($1, $2, $3)`,
    [id, format, `conversations/${id}/1.jsonl`],
  );
  await server.dataSource.query('UPDATE runs SET state = $2, conversation_id = $3 WHERE id = $1', [
    runId,
    state,
    id,
  ]);
  return { runId, id };
}

const continueIt = (id: string, body: object = {}, client = runs) =>
  client.call('POST', 'runs', { conversation_id: id, ...body });

describe('a run that continues a conversation', () => {
  it('needs no prompt, and has the conversation from its start', async () => {
    const { id } = await insertConversation('SUCCEEDED');
    const answer = await continueIt(id);
    expect(answer.status).toBe(200);
    const { run_id: runId } = answer.body as { run_id: string };
    expect(await runs.read(runId)).toMatchObject({ conversation_id: id, prompt: '', state: 'QUEUED' });
  });

  it.each([
    ['unknown', () => Promise.resolve(randomUUID()), () => runs],
    ['of another team', async () => (await insertConversation('SUCCEEDED')).id, () => stranger],
    ['malformed', () => Promise.resolve('nonsense'), () => runs],
  ])('is a 400 where that is %s', async (_, conversation, client) => {
    expect(await continueIt(await conversation(), { prompt: 'x' }, client())).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'conversation_id' }] },
    });
  });

  it('is a 400 with another harness than the one that it began with', async () => {
    const { id } = await insertConversation('SUCCEEDED', 'claude_code_cli');
    expect(await continueIt(id)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'config.harness.type' }] },
    });
    expect((await continueIt(id, { config: { harness: { type: 'claude' } } })).status).toBe(200);
  });

  it.each(['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS'])(
    'is a 409 while another one is %s',
    async (state) => {
      const { id } = await insertConversation(state);
      expect(await continueIt(id)).toMatchObject({ status: 409, body: { error_code: 'conflict' } });
      const [row] = await server.dataSource.query<{ count: number }[]>(
        'SELECT count(*)::int AS count FROM runs WHERE conversation_id = $1',
        [id],
      );
      expect(row?.count).toBe(1);
    },
  );

  it('is one of those that try at once; a follow-up is such a try, too', async () => {
    const overThere = new RunsClient(replica);
    for (let round = 0; round < 20; round++) {
      const { runId, id } = await insertConversation('FAILED');
      const answers = await Promise.all([
        continueIt(id),
        continueIt(id, {}, overThere),
        runs.call('POST', `runs/${runId}/followups`, { message: 'Go on' }),
        continueIt(id, { prompt: 'x' }, overThere),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    }
  }, 30_000);

  it('waits for an execution of another one that is still stopping', async () => {
    const { runId, id } = await insertConversation('CANCELLED');
    await server.dataSource.query(
      `INSERT INTO run_executions (run_id, worker_id, connection_id, claim_deadline_at, claimed_at, lease_expires_at)
       VALUES ($1, 'w', $2, now() + interval '1 hour', now(), now() + interval '1 hour')`,
      [runId, randomUUID()],
    );
    const { run_id: next } = (await continueIt(id)).body as { run_id: string };
    const assigned = async () => {
      const worker = { pool: { kind: 'hosted' as const }, workerId: 'w', connectionId: randomUUID() };
      const runsOfIt = await server.app
        .get(Transactor)
        .run((tx) => server.app.get(RunLifecycle).assign(tx, worker, 1000));
      return runsOfIt.map((run) => run.runId);
    };
    expect(await assigned()).not.toContain(next);
    await server.dataSource.query('UPDATE run_executions SET ended_at = now() WHERE run_id = $1', [runId]);
    expect(await assigned()).toContain(next);
  });
});

describe('a conversation', () => {
  it('is read by its id by whoever may read a run of it', async () => {
    const { id } = await insertConversation('SUCCEEDED', 'aider');
    expect((await runs.call('GET', `conversations/${id}`)).status).toBe(422);
    expect((await stranger.call('GET', `conversations/${id}`)).status).toBe(404);
    for (const unknown of [randomUUID(), 'nonsense'])
      expect((await runs.call('GET', `conversations/${unknown}`)).status).toBe(404);
  });

  it('has a transcript by its id unless it is one of the built-in harness', async () => {
    const path = (id: string) => `conversations/${id}/transcript`;
    const builtIn = await insertConversation('SUCCEEDED');
    expect((await runs.call('GET', path(builtIn.id))).status).toBe(400);
    expect((await stranger.call('GET', path(builtIn.id))).status).toBe(404);
    const claude = await insertConversation('SUCCEEDED', 'claude_code_cli');
    expect((await runs.call('GET', path(claude.id))).status).toBe(404);
    await server.app
      .get(ObjectStorage)
      .put(`conversations/${claude.id}/1.jsonl`, Readable.from([Buffer.from('{}\n')]), 10);
    const answer = await runs.call('GET', path(claude.id));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([302, 'no-store']);
    expect((await stranger.call('GET', path(claude.id))).status).toBe(404);
    expect((await runs.call('GET', path(randomUUID()))).status).toBe(404);
  });

  it('is linked to without a key once no run of it is under way', async () => {
    const link = (path: string) =>
      server.call('GET', `/v1/agent/${path}/redirect`, undefined, { Authorization: '' });
    const ended = await insertConversation('SUCCEEDED');
    const live = await insertConversation('INPROGRESS');
    expect(await link(`conversations/${ended.id}`)).toMatchObject({
      status: 200,
      body: { conversation_id: ended.id },
    });
    for (const path of [
      `conversations/${live.id}`,
      `conversations/${randomUUID()}`,
      `sessions/${randomUUID()}`,
    ]) {
      const { status, body } = await link(path);
      expect([status, body]).toEqual([200, {}]);
    }
    expect((await link('conversations/nonsense')).status).toBe(404);
  });
});
