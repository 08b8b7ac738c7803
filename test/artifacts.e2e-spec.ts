import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { insertTeam, insertUser } from './support/identities.js';
import { RunsClient } from './support/runs.js';
import { type SimulatedRunner, SimulatedWorker } from './support/simulated-worker.js';
import { type Answer, startTestApp, type TestApp } from './support/test-app.js';

interface Item {
  artifact_type: string;
  created_at: string;
  data: Record<string, unknown>;
}

const NO_KEY = { Authorization: '' };

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
async function startRun(client = runs): Promise<{ runId: string; runner: SimulatedRunner }> {
  const runId = await client.create();
  const assignment = await worker.nextAssignment();
  expect(assignment.task_id).toBe(runId);
  worker.claim(assignment);
  const runner = worker.runner(assignment);
  await runner.begin();
  return { runId, runner };
}

const report = (runner: SimulatedRunner, artifact_type: string, data: unknown): Promise<Answer> =>
  runner.call('POST', 'harness-support/report-artifact', { artifact_type, data });

async function reported(runner: SimulatedRunner, artifact_type: string, data: unknown): Promise<string> {
  const { status, body } = await report(runner, artifact_type, data);
  expect({ status, body }).toMatchObject({ status: 200 });
  return (body as { artifact_uid: string }).artifact_uid;
}

async function itemsOf(runId: string): Promise<Item[]> {
  return ((await runs.read(runId)) as unknown as { artifacts: Item[] }).artifacts;
}

/** Puts the bytes at an upload target and reports them. */
async function uploaded(
  runner: SimulatedRunner,
  bytes: string | Uint8Array<ArrayBuffer>,
  { mime_type = 'text/plain', ...data }: { mime_type?: string; filename?: string; description?: string } = {},
): Promise<string> {
  const { uid, put } = await openUpload(runner, mime_type);
  expect((await put(bytes)).status).toBe(200);
  return reported(runner, 'FILE', { artifact_uid: uid, filepath: 'out/a.txt', mime_type, ...data });
}

async function openUpload(runner: SimulatedRunner, mime_type = 'text/plain', artifact_type = 'FILE') {
  const { status, body } = await runner.call('POST', 'harness-support/artifact-upload', {
    artifact_type,
    mime_type,
  });
  expect(status).toBe(200);
  const { artifact_uid: uid, upload_target: target } = body as {
    artifact_uid: string;
    upload_target: { url: string; method: string; headers: Record<string, string> };
  };
  return {
    uid,
    url: target.url,
    put: (bytes: string | Uint8Array<ArrayBuffer>, headers = target.headers) =>
      fetch(target.url, { method: target.method, headers, body: bytes }),
  };
}

describe('a report', () => {
  it('of a pull request is found in the run, once, however often and however spelt', async () => {
    const { runId, runner } = await startRun();
    const uid = await reported(runner, 'PULL_REQUEST', {
      url: 'https://github.com/acme/shop/pull/7',
      branch: 'a',
    });
    expect(
      await reported(runner, 'PULL_REQUEST', {
        url: 'HTTPS://GitHub.com:443/acme/shop/pull/7/',
        branch: 'b',
      }),
    ).toBe(uid);
    expect(await itemsOf(runId)).toEqual([
      {
        artifact_type: 'PULL_REQUEST',
        created_at: expect.any(String),
        data: { url: 'HTTPS://GitHub.com:443/acme/shop/pull/7/', branch: 'b' },
      },
    ]);
  });

  it('is stored once when it comes ten times at once', async () => {
    const { runId, runner } = await startRun();
    const uids = await Promise.all(
      Array.from({ length: 10 }, () =>
        reported(runner, 'PLAN', { document_uid: 'plan', content: 'The same' }),
      ),
    );
    expect(new Set(uids).size).toBe(1);
    expect(await itemsOf(runId)).toHaveLength(1);
    const versions = await server.dataSource.query<object[]>(
      'SELECT 1 FROM artifact_plan_versions WHERE artifact_uid = $1',
      [uids[0]],
    );
    expect(versions).toHaveLength(1);
  });

  it.each([
    ['PULL_REQUEST', { branch: 'a' }, 'data.url'],
    ['PULL_REQUEST', { url: 'https://github.com/a', branch: 7 }, 'data.branch'],
    ['PULL_REQUEST', { url: 'https://ada:secret@github.com/a', branch: 'a' }, 'data.url'],
    ['EXTERNAL_REFERENCE', { reference_type: 'issue', url: 'javascript:alert(1)' }, 'data.url'],
    [
      'EXTERNAL_REFERENCE',
      { reference_type: 'x'.repeat(257), url: 'https://a.example' },
      'data.reference_type',
    ],
    [
      'EXTERNAL_REFERENCE',
      { reference_type: 'issue', url: `https://a.example/${'x'.repeat(2048)}` },
      'data.url',
    ],
    [
      'EXTERNAL_REFERENCE',
      { reference_type: 'issue', url: 'https://a.example', metadata: 'x' },
      'data.metadata',
    ],
    [
      'EXTERNAL_REFERENCE',
      { reference_type: 'issue', url: 'https://a.example', metadata: { x: 'x'.repeat(16_400) } },
      'data.metadata',
    ],
    ['PLAN', { title: 'x' }, 'data.document_uid'],
    ['PLAN', { document_uid: '' }, 'data.document_uid'],
    ['FILE', { artifact_uid: 'x', filepath: 'a' }, 'data.artifact_uid'],
    ['FILE', { artifact_uid: randomUUID(), filepath: 'a' }, 'data.artifact_uid'],
    ['SCREENSHOT', { artifact_uid: randomUUID(), filename: '../x' }, 'data.filename'],
    ['NONSENSE', {}, 'artifact_type'],
    ['PLAN', 'x', 'data'],
    ['PLAN', [], 'data'],
    ['PLAN', undefined, 'data'],
  ])('of %s %j is a 400 that names %s', async (type, data, field) => {
    const { runId, runner } = await startRun();
    const { status, body } = await report(runner, type, data);
    expect(status).toBe(400);
    expect((body as { errors: { field: string }[] }).errors.map((error) => error.field)).toContain(field);
    expect(await itemsOf(runId)).toEqual([]);
  });

  it('is a 409 once the execution is over, and stores nothing', async () => {
    const { runId, runner } = await startRun();
    await runs.cancel(runId);
    const answer = await report(runner, 'PULL_REQUEST', {
      url: 'https://github.com/acme/shop/pull/7',
      branch: 'a',
    });
    expect(answer.status).toBe(409);
    expect(await itemsOf(runId)).toEqual([]);
  });

  it('is a 403 beyond a hundred artifacts, which can still be reported again', async () => {
    const { runId, runner } = await startRun();
    const url = (number: number) => ({ reference_type: 'issue', url: `https://a.example/${String(number)}` });
    const first = await reported(runner, 'EXTERNAL_REFERENCE', url(0));
    await server.dataSource.query(
      `INSERT INTO artifacts (uid, run_id, scope_uid, artifact_type, identity, data)
       SELECT gen_random_uuid(), run_id, scope_uid, artifact_type, i::text, data
         FROM artifacts, generate_series(1, 99) i WHERE run_id = $1`,
      [runId],
    );
    expect(await report(runner, 'EXTERNAL_REFERENCE', url(1))).toMatchObject({
      status: 403,
      body: { error_code: 'budget_exceeded' },
    });
    expect(await reported(runner, 'EXTERNAL_REFERENCE', url(0))).toBe(first);
    const upload = { artifact_type: 'FILE', mime_type: 'text/plain' };
    expect((await runner.call('POST', 'harness-support/artifact-upload', upload)).status).toBe(403);
  });
});

describe('a list of runs', () => {
  it('is filtered by the type of an artifact, and shows the artifacts of each', async () => {
    const { runId, runner } = await startRun();
    await startRun();
    await reported(runner, 'PLAN', { document_uid: 'a', title: 'A plan' });
    const { runs: found } = await runs.list('artifact_type=PLAN&limit=1');
    expect(found).toMatchObject([
      { run_id: runId, artifacts: [{ artifact_type: 'PLAN', data: { document_uid: 'a', title: 'A plan' } }] },
    ]);
    const { runs: all } = await runs.list();
    expect(all.length).toBeGreaterThan(1);
    for (const run of all as unknown as { run_id: string; artifacts: Item[] }[])
      expect(run.artifacts).toEqual(await itemsOf(run.run_id));
  });
});

describe('an external reference', () => {
  const find = (url: string, client = runs) =>
    client.call('GET', `run-by-external-reference?url=${encodeURIComponent(url)}`);

  it('leads to the run that was the last to report it, in whatever spelling', async () => {
    const first = await startRun();
    const second = await startRun();
    const path = randomUUID();
    const data = (url: string) => ({ reference_type: 'issue', url, metadata: { state: 'open' } });
    await reported(first.runner, 'EXTERNAL_REFERENCE', data(`https://tracker.example/${path}`));
    await reported(second.runner, 'EXTERNAL_REFERENCE', data(`HTTPS://Tracker.Example:443/${path}/#top`));
    for (const url of [`https://tracker.example/${path}`, `https://TRACKER.example/${path}//#other`])
      expect(await find(url)).toMatchObject({ status: 200, body: { run_id: second.runId } });
    expect(await itemsOf(first.runId)).toMatchObject([{ data: data(`https://tracker.example/${path}`) }]);
  });

  it('leads past runs of others', async () => {
    const url = `https://tracker.example/${randomUUID()}`;
    const mine = await startRun();
    const theirs = await startRun(stranger);
    await reported(mine.runner, 'EXTERNAL_REFERENCE', { reference_type: 'issue', url });
    expect((await find(url, stranger)).status).toBe(404);
    await reported(theirs.runner, 'EXTERNAL_REFERENCE', { reference_type: 'issue', url });
    expect((await find(url)).body).toEqual({ run_id: mine.runId });
    expect((await find(url, stranger)).body).toEqual({ run_id: theirs.runId });
    expect((await mine.runner.call('GET', `agent/run-by-external-reference?url=${url}`)).body).toEqual({
      run_id: mine.runId,
    });
  });

  it('is a 404 when nobody has reported it, and a 400 without a url', async () => {
    expect((await find('https://tracker.example/none')).status).toBe(404);
    expect((await find('not a url')).status).toBe(404);
    for (const query of ['', '?url=a&url=b', `?url=${'x'.repeat(2049)}`])
      expect(await runs.call('GET', `run-by-external-reference${query}`)).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'url' }] },
      });
  });
});

describe('a field that is null', () => {
  it('counts as left out', async () => {
    const { runId, runner } = await startRun();
    await reported(runner, 'PLAN', { document_uid: 'plan', title: null, content: null });
    const url = 'https://tracker.example/issues/9';
    await reported(runner, 'EXTERNAL_REFERENCE', {
      reference_type: 'issue',
      url,
      title: null,
      metadata: null,
    });
    const { uid, put } = await openUpload(runner, 'text/plain');
    await put('text');
    await reported(runner, 'FILE', { artifact_uid: uid, filepath: 'a/b', filename: null, title: null });
    expect(JSON.stringify(await itemsOf(runId))).not.toContain('null');
    expect(await itemsOf(runId)).toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ filename: 'b' }) }),
    );
  });
});

describe('a plan', () => {
  it('is read with its current content, of which every version is kept', async () => {
    const { runId, runner } = await startRun();
    const uid = await reported(runner, 'PLAN', { document_uid: 'plan', title: 'A', content: 'One' });
    await reported(runner, 'PLAN', {
      document_uid: 'plan',
      title: 'B',
      content: 'Two',
      content_type: 'text/plain',
    });
    await reported(runner, 'PLAN', { document_uid: 'plan', title: 'C' });
    const { status, body } = await runs.call('GET', `artifacts/${uid}`);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        artifact_uid: uid,
        artifact_type: 'PLAN',
        created_at: expect.any(String),
        data: {
          document_uid: 'plan',
          notebook_uid: '',
          title: 'C',
          content: 'Two',
          content_type: 'text/plain',
        },
      },
    });
    expect(await itemsOf(runId)).toMatchObject([
      { data: { artifact_uid: uid, document_uid: 'plan', title: 'C' } },
    ]);
    const versions = await server.dataSource.query<object[]>(
      'SELECT version, content FROM artifact_plan_versions WHERE artifact_uid = $1 ORDER BY version',
      [uid],
    );
    expect(versions).toEqual([
      { version: 1, content: 'One' },
      { version: 2, content: 'Two' },
    ]);
    expect((await runs.call('GET', `artifacts/${uid}/download`)).status).toBe(404);
  });
});

describe('a file', () => {
  it('is put, reported and read back', async () => {
    const { runId, runner } = await startRun();
    const { uid, put } = await openUpload(runner, 'text/html');
    expect(await itemsOf(runId)).toEqual([]);
    const data = { artifact_uid: uid, filepath: 'reports/Übersicht.html', description: 'A report' };
    expect((await report(runner, 'FILE', data)).status).toBe(400);
    expect((await put('<script>alert(1)</script>')).status).toBe(200);
    expect(await reported(runner, 'FILE', data)).toBe(uid);
    expect(await reported(runner, 'FILE', data)).toBe(uid);
    expect(await itemsOf(runId)).toMatchObject([
      {
        artifact_type: 'FILE',
        data: { ...data, filename: 'Übersicht.html', mime_type: 'text/html', size_bytes: 25 },
      },
    ]);

    const { body } = await runs.call('GET', `artifacts/${uid}`);
    expect(body).toMatchObject({
      data: {
        filename: 'Übersicht.html',
        filepath: 'reports/Übersicht.html',
        content_type: 'text/html',
        size_bytes: 25,
      },
    });
    const redirect = await runs.call('GET', `artifacts/${uid}/download`);
    expect(redirect.status).toBe(302);
    expect(redirect.headers.get('cache-control')).toBe('no-store');
    expect(redirect.headers.get('x-content-type-options')).toBe('nosniff');
    const location = new URL(redirect.headers.get('location') ?? '');
    const download = await fetch(server.url + location.pathname);
    expect(Object.fromEntries(download.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': 'attachment; filename="?bersicht.html"; filename*=UTF-8\'\'%C3%9Cbersicht.html',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      'content-length': '25',
    });
    expect(await download.text()).toBe('<script>alert(1)</script>');
  });

  it.each(['..', 'reports/..', 'a/b\r\nSet-Cookie: x=1', `a/${'x'.repeat(256)}`])(
    'at %j, which ends in no file name, has a name all the same',
    async (filepath) => {
      const { runId, runner } = await startRun();
      const { uid, put } = await openUpload(runner, 'text/plain');
      await put('text');
      await reported(runner, 'FILE', { artifact_uid: uid, filepath });
      expect(await itemsOf(runId)).toMatchObject([{ data: { filename: 'file' } }]);
    },
  );

  it('is refused where it says another content type, is too large or has been put already', async () => {
    const { runner } = await startRun();
    const { uid, put, url } = await openUpload(runner);
    expect((await put('x', { 'Content-Type': 'text/html' })).status).toBe(400);
    const tooLarge = await fetch(url, {
      method: 'PUT',
      headers: { 'Content-Type': 'text/plain' },
      body: new Uint8Array(100 * 1024 * 1024 + 1),
    });
    expect(tooLarge.status).toBe(413);
    expect((await put('first')).status).toBe(200);
    expect((await put('second')).status).toBe(409);
    await reported(runner, 'FILE', { artifact_uid: uid, filepath: 'a' });
  });

  it('belongs to the run and the type that its upload was opened for', async () => {
    const { runner } = await startRun();
    const other = await startRun();
    const { uid, put } = await openUpload(runner, 'image/png', 'SCREENSHOT');
    await put('png');
    expect((await report(other.runner, 'SCREENSHOT', { artifact_uid: uid })).status).toBe(400);
    expect((await report(runner, 'FILE', { artifact_uid: uid, filepath: 'a' })).status).toBe(400);
    await reported(runner, 'SCREENSHOT', { artifact_uid: uid, description: 'The page' });
    expect((await report(other.runner, 'SCREENSHOT', { artifact_uid: uid })).status).toBe(400);
  });
});

describe('who may read an artifact', () => {
  const read = (uid: string, headers: Record<string, string>) =>
    server.call('GET', `/v1/agent/artifacts/${uid}`, undefined, headers);

  it('whoever sees its run; to others it does not exist', async () => {
    const { runner } = await startRun();
    const uid = await uploaded(runner, 'x');
    expect((await runs.call('GET', `artifacts/${uid}`)).status).toBe(200);
    expect((await runner.call('GET', `agent/artifacts/${uid}`)).status).toBe(200);
    const other = await startRun();
    expect((await other.runner.call('GET', `agent/artifacts/${uid}`)).status).toBe(404);
    for (const path of [`artifacts/${uid}`, `artifacts/${uid}/download`])
      expect((await stranger.call('GET', path)).status).toBe(404);
    expect((await stranger.call('PATCH', `artifacts/${uid}`, { public: true })).status).toBe(404);
    const withoutKey = await read(uid, NO_KEY);
    expect(withoutKey.status).toBe(401);
    expect((await read(randomUUID(), NO_KEY)).body).toEqual({
      ...(withoutKey.body as object),
      instance: expect.any(String),
      trace_id: expect.any(String),
    });
    expect((await read('nonsense', NO_KEY)).status).toBe(404);
  });

  it('everybody, once it is public: but for the path of a file', async () => {
    const { runner } = await startRun();
    const uid = await uploaded(runner, 'x');
    expect((await runs.call('PATCH', `artifacts/${uid}`, { public: true })).body).toEqual({
      artifact_uid: uid,
      public: true,
    });
    for (const headers of [NO_KEY, { Authorization: '' }]) {
      const { status, body } = await read(uid, headers);
      expect(status).toBe(200);
      expect(body).toMatchObject({ data: { filename: 'a.txt' } });
      expect((body as { data: object }).data).not.toHaveProperty('filepath');
    }
    expect((await read(uid, { Authorization: 'Bearer wk-nonsense' })).status).toBe(401);
    const strange = (await stranger.call('GET', `artifacts/${uid}`)).body as { data: object };
    expect(strange.data).not.toHaveProperty('filepath');
    expect((await runs.call('GET', `artifacts/${uid}`)).body).toMatchObject({
      data: { filepath: 'out/a.txt' },
    });
    expect((await runs.call('PATCH', `artifacts/${uid}`, { public: false })).status).toBe(200);
    expect((await read(uid, NO_KEY)).status).toBe(401);
    for (const body of [{}, { public: 'yes' }])
      expect((await runs.call('PATCH', `artifacts/${uid}`, body)).status).toBe(400);
  });

  it('nobody where there is nothing to read', async () => {
    const { runner } = await startRun();
    const uid = await reported(runner, 'PULL_REQUEST', {
      url: 'https://github.com/acme/shop/pull/8',
      branch: 'a',
    });
    for (const path of [`artifacts/${uid}`, `artifacts/${uid}/download`])
      expect((await runs.call('GET', path)).status).toBe(404);
  });
});

describe('what an execution leaves behind', () => {
  it('is handed over once it has ended', async () => {
    const { runId, runner } = await startRun();
    const path = `runs/${runId}/handoff/attachments`;
    const files = [
      { filename: 'changes.patch', mime_type: 'text/x-diff' },
      { filename: 'never-put.txt', mime_type: 'text/plain' },
    ];
    const ask = () => runner.call('POST', 'harness-support/upload-snapshot', { files });
    const { uploads } = (await ask()).body as { uploads: { url: string; headers: Record<string, string> }[] };
    expect(uploads).toHaveLength(2);
    await ask();
    await fetch(uploads[0]!.url, { method: 'PUT', headers: uploads[0]!.headers, body: 'diff' });
    expect((await runs.call('GET', path)).body).toEqual({ attachments: [] });
    await runner.finish(true);
    await runner.shutDown();
    const { attachments } = (await runs.call('GET', path)).body as { attachments: Record<string, string>[] };
    expect(attachments).toEqual([
      {
        attachment_id: expect.any(String),
        filename: 'changes.patch',
        mime_type: 'text/x-diff',
        download_url: expect.any(String),
      },
    ]);
    const { pathname } = new URL(attachments[0]!.download_url!);
    expect(await (await fetch(server.url + pathname)).text()).toBe('diff');
    expect((await stranger.call('GET', path)).status).toBe(404);
  });

  it('has its bounds', async () => {
    const { runner } = await startRun();
    const ask = (files: object[]) => runner.call('POST', 'harness-support/upload-snapshot', { files });
    const named = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, at) => ({
        filename: `${prefix}${String(at)}`,
        mime_type: 'text/plain',
      }));
    expect((await ask([])).status).toBe(400);
    expect((await ask(named('a', 26))).status).toBe(400);
    expect((await ask([{ filename: '../a', mime_type: 'text/plain' }])).status).toBe(400);
    for (const prefix of ['a', 'b', 'c', 'd']) expect((await ask(named(prefix, 25))).status).toBe(200);
    expect((await ask(named('e', 1))).status).toBe(403);
    expect((await ask(named('d', 25))).status).toBe(200);
  });
});
