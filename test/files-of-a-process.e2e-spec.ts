import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceProcess } from './support/service-process.js';
import { ADMIN_KEY, call, eventually } from './support/test-app.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const MEBIBYTE = 1024 * 1024;

let database: TestDatabase;
let directory: string;
let service: ServiceProcess;

const start = (limits = ''): Promise<ServiceProcess> =>
  ServiceProcess.start(
    {
      DATABASE_URL: database.url,
      DATA_DIR: join(directory, 'data'),
      WORKER_SLOTS: '0',
      API_REQUESTS_PER_MINUTE: '0',
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    },
    limits,
  );

beforeAll(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'millwright-files-'));
  service = await start();
});
afterAll(async () => {
  await service.stop('SIGKILL');
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

const temporaryFiles = () => readdir(join(directory, 'data', 'objects', '.incoming'));

/** The agent of a run that its creator executes. */
async function startRun(): Promise<(path: string, body: object) => Promise<Record<string, unknown>>> {
  const created = await call(
    `${service.url}/v1/agent/runs`,
    'POST',
    { prompt: 'x' },
    { 'X-Api-Source': 'LOCAL' },
  );
  const { run_key: key } = created.body as { run_key: string };
  return async (path, body) => {
    const answer = await call(`${service.url}/v1/harness-support/${path}`, 'POST', body, {
      Authorization: `Bearer ${key}`,
    });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body as Record<string, unknown>;
  };
}

type Agent = Awaited<ReturnType<typeof startRun>>;

async function openUpload(agent: Agent): Promise<{ uid: string; url: string }> {
  const opened = await agent('artifact-upload', { artifact_type: 'FILE', mime_type: 'text/plain' });
  return { uid: opened.artifact_uid as string, url: (opened.upload_target as { url: string }).url };
}

const put = (url: string, bytes: Uint8Array<ArrayBuffer> | string) =>
  fetch(url, { method: 'PUT', headers: { 'Content-Type': 'text/plain' }, body: bytes });

const report = (agent: Agent, uid: string) =>
  agent('report-artifact', { artifact_type: 'FILE', data: { artifact_uid: uid, filepath: 'a.txt' } });

async function downloadUrl(uid: string): Promise<string> {
  const { body } = await call(`${service.url}/v1/agent/artifacts/${uid}`, 'GET');
  const { pathname } = new URL((body as { data: { download_url: string } }).data.download_url);
  return service.url + pathname;
}

/** Of the service's process alone. */
async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${String(service.child.pid)}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** How far the service's memory grew at most while the work was under way. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = await residentBytes();
  let most = before;
  const timer = setInterval(() => {
    void residentBytes().then((bytes) => (most = Math.max(most, bytes)));
  }, 10);
  await work();
  clearInterval(timer);
  return Math.max(most, await residentBytes()) - before;
}

async function digestOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of body) hash.update(chunk);
  return hash.digest('hex');
}

describe('the service', () => {
  it('takes and gives 100 MiB while its memory grows by less than 32 MiB', async () => {
    const agent = await startRun();
    const content = randomBytes(100 * MEBIBYTE);
    const digest = createHash('sha256').update(content).digest('hex');
    // The heap of a process that has just started grows to the size that it works with: none of the transfer's.
    const first = await openUpload(agent);
    expect((await put(first.url, content.subarray(0, 32 * MEBIBYTE))).status).toBe(200);

    const { uid, url } = await openUpload(agent);
    const growthIn = await growthDuring(async () => {
      expect((await put(url, content)).status).toBe(200);
    });
    await report(agent, uid);
    const from = await downloadUrl(uid);
    const growthOut = await growthDuring(async () => {
      const response = await fetch(from);
      expect(await digestOf(response.body as unknown as AsyncIterable<Uint8Array>)).toBe(digest);
    });
    process.stdout.write(
      `100 MiB in: +${(growthIn / MEBIBYTE).toFixed(1)} MiB, out: +${(growthOut / MEBIBYTE).toFixed(1)} MiB\n`,
    );
    expect(growthIn).toBeLessThan(32 * MEBIBYTE);
    expect(growthOut).toBeLessThan(32 * MEBIBYTE);
  }, 60_000);

  it('gives 200 readers their files at once, and goes on answering', async () => {
    const agent = await startRun();
    const { uid, url } = await openUpload(agent);
    const content = randomBytes(2 * MEBIBYTE);
    const digest = createHash('sha256').update(content).digest('hex');
    await put(url, content);
    await report(agent, uid);
    const from = await downloadUrl(uid);
    const downloads = Array.from({ length: 200 }, async () => {
      const response = await fetch(from);
      return digestOf(response.body as unknown as AsyncIterable<Uint8Array>);
    });
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    expect(new Set(await Promise.all(downloads))).toEqual(new Set([digest]));
  }, 60_000);

  it('keeps what it has acknowledged through a kill, and nothing that was half put', async () => {
    const agent = await startRun();
    const kept = await openUpload(agent);
    await put(kept.url, 'kept');
    const { uid, url } = await openUpload(agent);
    const upload = request(url, {
      method: 'PUT',
      headers: { 'Content-Type': 'text/plain', 'Content-Length': MEBIBYTE },
    });
    upload.on('error', () => undefined);
    upload.write(Buffer.alloc(MEBIBYTE / 2));
    await eventually(async () => ((await temporaryFiles()).length > 0 ? true : undefined));
    await service.stop('SIGKILL');
    service = await start();
    await report(agent, kept.uid);
    expect(await (await fetch(await downloadUrl(kept.uid))).text()).toBe('kept');
    await expect(report(agent, uid)).rejects.toThrow('not been put');
  }, 60_000);

  it('answers 503 when the storage is full, loses nothing and takes what fits', async () => {
    await service.stop();
    service = await start('-f 2048');
    const agent = await startRun();
    const small = await openUpload(agent);
    expect((await put(small.url, 'small')).status).toBe(200);
    const before = await temporaryFiles();
    const large = await openUpload(agent);
    const refused = await put(large.url, randomBytes(4 * MEBIBYTE));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({
      error_code: 'resource_unavailable',
      detail: 'The storage is full',
      retryable: true,
    });
    expect(await temporaryFiles()).toEqual(before);
    await expect(report(agent, large.uid)).rejects.toThrow('not been put');
    expect((await put(large.url, 'fits')).status).toBe(200);
    for (const [{ uid }, text] of [
      [small, 'small'],
      [large, 'fits'],
    ] as const) {
      await report(agent, uid);
      expect(await (await fetch(await downloadUrl(uid))).text()).toBe(text);
    }
  }, 60_000);

  it('serves the page of a run, and what that needs, under a policy that executes nothing else', async () => {
    const { run_id: id } = (await call(`${service.url}/v1/agent/runs`, 'POST', { prompt: 'x' })).body as {
      run_id: string;
    };
    const { body } = await call(`${service.url}/v1/agent/runs/${id}`, 'GET');
    const path = new URL((body as { session_link: string }).session_link).pathname;
    expect(path).toBe(`/runs/${id}`);
    const page = await fetch(service.url + path);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    const markup = await page.text();
    // Nothing inline, and nothing from elsewhere: the policy would stop it.
    expect(markup).not.toMatch(/<style|\son[a-z]+=|style=|https?:/);
    const needed = [...markup.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
    expect(needed).toEqual(['page/style.css', 'page/run-page.js']);
    const imported = new Set(needed.map((relative) => new URL(relative, service.url + path).href));
    for (const url of imported) {
      const response = await fetch(url);
      expect([url, response.status, response.headers.get('x-content-type-options')]).toEqual([
        url,
        200,
        'nosniff',
      ]);
      expect(response.headers.get('content-type')).toMatch(
        url.endsWith('.css') ? /^text\/css/ : /^text\/javascript/,
      );
      for (const [, relative] of (await response.text()).matchAll(/from '([^']+)'/g))
        imported.add(new URL(relative!, url).href);
    }
    expect([...imported].map((url) => url.split('/').at(-1)).sort()).toEqual([
      'markup.js',
      'render-run.js',
      'run-page.js',
      'style.css',
    ]);
    for (const wrong of ['/runs/nonsense', '/runs/page/page-shell.js', '/runs/page/..%2f..%2fmain.js'])
      expect((await fetch(service.url + wrong)).status).toBe(404);
    expect(service.output).not.toContain(ADMIN_KEY);
  }, 60_000);
});
