import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { SystemClock } from '../src/kernel/clock.js';
import { Problem } from '../src/kernel/errors/problem.js';
import { Keyring } from '../src/kernel/security/keyring.js';
import { FileSystemStorage } from '../src/kernel/storage/file-system-storage.js';
import { ObjectStorage } from '../src/kernel/storage/object-storage.js';
import { S3Storage } from '../src/kernel/storage/s3-storage.js';
import { DamagedObjectError } from '../src/kernel/storage/sealed-file.js';
import { S3Server } from './support/s3-server.js';
import { eventually, startTestApp, type TestApp } from './support/test-app.js';

const MEBIBYTE = 1024 * 1024;

let s3: S3Server;
const servers = new Map<string, TestApp>();

beforeAll(async () => {
  s3 = await S3Server.start();
  servers.set('the file system', await startTestApp());
  servers.set('S3', await startTestApp(s3.environment));
});
afterAll(async () => {
  for (const server of servers.values()) await server.close();
  await s3.stop();
});

const body = (...chunks: (string | Buffer)[]): Readable =>
  Readable.from(chunks.map((chunk) => Buffer.from(chunk)));

async function* failing(): AsyncIterable<Uint8Array> {
  yield await Promise.resolve(Buffer.alloc(20 * MEBIBYTE));
  throw new Error('cut off');
}

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

describe.each(['the file system', 'S3'])('an object on %s', (adapter) => {
  let server: TestApp;
  let storage: ObjectStorage;
  const newKey = () => `test/${randomUUID()}`;
  const read = async (key: string, range?: { start: number; end: number }): Promise<Buffer | undefined> => {
    const object = await storage.open(key, range);
    return object && buffer(object.body);
  };
  /** As a client reaches it from the outside. */
  const urlFor = async (key: string, filename = 'a.txt', contentType = 'text/plain') =>
    storage.downloadUrl(key, { filename, contentType, origin: server.url });

  beforeAll(() => {
    server = servers.get(adapter)!;
    storage = server.app.get(ObjectStorage);
  });

  it('is what was put last, whole', async () => {
    const key = newKey();
    expect(await storage.open(key)).toBeUndefined();
    expect(await storage.stat(key)).toBeUndefined();
    expect(await storage.put(key, body('one', 'two'), 6)).toEqual({ sizeBytes: 6 });
    const first = await storage.stat(key);
    expect(first).toEqual({ sizeBytes: 6, etag: expect.any(String) });
    expect(await storage.uploaded(key, 6)).toEqual(first);
    expect(await storage.uploaded(key, 5)).toBeUndefined();
    await storage.put(key, body('three'), 6);
    expect((await read(key))?.toString()).toBe('three');
    expect((await storage.stat(key))?.etag).not.toBe(first?.etag);
  });

  it.each([0, 1, 65_535, 65_536, 65_537, 9 * MEBIBYTE + 1])('of %i bytes comes back', async (size) => {
    const key = newKey();
    const bytes = randomBytes(size);
    await storage.put(key, body(bytes), size);
    expect((await read(key))?.equals(bytes)).toBe(true);
    expect((await storage.stat(key))?.sizeBytes).toBe(size);
  });

  it('is read in part', async () => {
    const key = newKey();
    const bytes = randomBytes(200_000);
    await storage.put(key, body(bytes), bytes.length);
    for (const [start, end] of [
      [0, 1],
      [65_530, 65_540],
      [100_000, 199_999],
    ] as const) {
      const part = await storage.open(key, { start, end });
      expect(part?.sizeBytes).toBe(bytes.length);
      expect((await buffer(part!.body)).equals(bytes.subarray(start, end + 1))).toBe(true);
    }
  });

  it.each([8, 8 * MEBIBYTE])('is not stored when it is longer than %i bytes', async (limit) => {
    const key = newKey();
    await storage.put(key, body('before'), 8);
    expect(await codeOf(storage.put(key, body(Buffer.alloc(limit), 'x'), limit))).toBe('payload_too_large');
    expect((await read(key))?.toString()).toBe('before');
  });

  it('is not stored when its source fails half-way', async () => {
    const key = newKey();
    expect(await codeOf(storage.put(key, failing(), 100 * MEBIBYTE))).toBe('Error: cut off');
    expect(await storage.stat(key)).toBeUndefined();
  });

  it('is deleted, and deleted again', async () => {
    const key = newKey();
    await storage.put(key, body('x'), 1);
    await storage.delete(key);
    await storage.delete(key);
    expect(await storage.stat(key)).toBeUndefined();
  });

  it('is listed in the order of keys, from wherever one begins', async () => {
    const prefix = `list-${randomUUID()}`;
    // The server of the test walks directories, so it puts what stands before the slash elsewhere than S3 does.
    const before = adapter === 'S3' ? [] : ['a-b/c', 'a.b', 'ab-c'];
    const keys = ['a', ...before, 'ab/c/d', 'ab/e', 'b'].map((name) => `${prefix}/${name}`);
    for (const key of keys) await storage.put(key, body('x'), 1);
    const sorted = [...keys].sort();
    const listFrom = async (after: string, limit: number) =>
      (await storage.list(after, limit)).map(({ key }) => key).filter((key) => key.startsWith(prefix));
    expect(await listFrom(prefix, 1000)).toEqual(sorted);
    for (const [index, key] of sorted.entries()) {
      expect(await listFrom(key, 1000)).toEqual(sorted.slice(index + 1));
      // The server of the test fails at a page that ends early.
      if (adapter !== 'S3') expect(await listFrom(key, 1)).toEqual(sorted.slice(index + 1, index + 2));
    }
  });

  it('is downloaded without a key, under its name, with its type', async () => {
    const key = newKey();
    const bytes = randomBytes(100_000);
    await storage.put(key, body(bytes), bytes.length);
    const response = await fetch(await urlFor(key, 'Bericht "€" 1.html', 'text/html'));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html']);
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="Bericht \\"?\\" 1.html"; filename*=UTF-8''Bericht%20%22%E2%82%AC%22%201.html`,
    );
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    const part = await fetch(await urlFor(key), { headers: { Range: 'bytes=99990-' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 99990-99999/100000']);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(99_990))).toBe(true);
  });

  it('is put at its target, which is good for nothing else', async () => {
    const key = newKey();
    const target = await storage.uploadTarget(key, {
      contentType: 'image/png',
      maxBytes: 10,
      origin: server.url,
    });
    const headers = target.headers ?? {};
    expect(
      (
        await fetch(target.url, {
          method: 'PUT',
          headers: { ...headers, 'Content-Type': 'text/html' },
          body: 'x',
        })
      ).ok,
    ).toBe(false);
    expect((await fetch(target.url)).status).toBe(403);
    expect(await storage.stat(key)).toBeUndefined();
    expect((await fetch(target.url, { method: target.method, headers, body: 'png' })).status).toBe(200);
    expect((await read(key))?.toString()).toBe('png');
  });
});

it('an object on an S3 that says nothing is unavailable, and nobody waits for it for ever', async () => {
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const endpoint = `http://127.0.0.1:${String((silent.address() as AddressInfo).port)}`;
  const storage = new S3Storage({ ...s3.config, endpoint }, { downloadUrlTtlSeconds: 60 }, 100);
  try {
    const attempts = [
      storage.open('x'),
      storage.stat('x'),
      storage.put('x', body('bytes'), 100),
      storage.delete('x'),
      storage.list(undefined, 1),
    ];
    expect(new Set(await Promise.all(attempts.map(codeOf)))).toEqual(new Set(['resource_unavailable']));
  } finally {
    storage.close();
    silent.close();
  }
});

describe('a URL that the service has signed', () => {
  let server: TestApp;
  let url: string;
  let otherUrl: string;

  beforeAll(async () => {
    server = servers.get('the file system')!;
    const storage = server.app.get(ObjectStorage);
    for (const name of ['one', 'two']) await storage.put(`signed/${name}`, body(name), 3);
    const sign = (key: string) =>
      storage.downloadUrl(key, { filename: 'a.html', contentType: 'text/html', origin: server.url });
    [url, otherUrl] = [await sign('signed/one'), await sign('signed/two')];
  });

  /** With other content under the same signature. */
  const altered = (change: object): string => {
    const [token = '', signature = ''] = new URL(url).pathname.split('/').at(-1)!.split('.');
    const content = JSON.parse(Buffer.from(token, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...content, ...change })).toString('base64url');
    return `${server.url}/objects/${forged}.${signature}`;
  };
  const signatureOf = (signed: string): string => signed.split('.').at(-1) ?? '';

  it('gives the object as a file that no browser executes here', async () => {
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html',
      'content-disposition': 'attachment; filename=a.html',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    });
  });

  it.each([
    ['object', () => altered({ key: 'signed/two' })],
    ['expiry', () => altered({ expiresAt: Date.now() + 1e9 })],
    ['file name', () => altered({ filename: 'b.html' })],
    ['content type', () => altered({ contentType: 'text/plain' })],
    ['operation', () => altered({ operation: 'put', maxBytes: 10, once: false })],
    ['signature', () => url.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'))],
    ['signature, taken from another object,', () => url.replace(signatureOf(url), signatureOf(otherUrl))],
    ['absence of a signature', () => url.split('.').slice(0, -1).join('.')],
  ])('is a 403 with another %s', async (_, forged) => {
    const tampered = forged();
    expect(tampered).not.toBe(url);
    for (const method of ['GET', 'HEAD', 'PUT'])
      expect((await fetch(tampered, { method, body: method === 'PUT' ? 'x' : undefined })).status).toBe(403);
    expect((await fetch(url)).status).toBe(200);
  });

  it('is a 403 once it has expired', async () => {
    const { dataDir } = server;
    const past = new FileSystemStorage(
      { dataDir, publicUrl: server.url, downloadUrlTtlSeconds: -1 } as never,
      server.app.get(Keyring),
      new SystemClock(),
    );
    const expired = await past.downloadUrl('signed/one', { filename: 'a', contentType: 'text/plain' });
    expect((await fetch(expired)).status).toBe(403);
  });

  it('answers HEAD and ranges', async () => {
    const head = await fetch(url, { method: 'HEAD' });
    expect(Object.fromEntries(head.headers)).toMatchObject({
      'content-length': '3',
      'accept-ranges': 'bytes',
      etag: expect.stringMatching(/^".+"$/),
    });
    expect(await head.text()).toBe('');
    // Range is defined for GET alone (RFC 9110, 14.2).
    expect((await fetch(url, { method: 'HEAD', headers: { Range: 'bytes=1-1' } })).status).toBe(200);
    const etag = head.headers.get('etag') ?? '';
    const get = async (headers: Record<string, string>) => {
      const response = await fetch(url, { headers });
      return [response.status, response.headers.get('content-range'), await response.text()];
    };
    expect(await get({ Range: 'bytes=1-1' })).toEqual([206, 'bytes 1-1/3', 'n']);
    expect(await get({ Range: 'bytes=-2' })).toEqual([206, 'bytes 1-2/3', 'ne']);
    expect(await get({ Range: 'bytes=1-99' })).toEqual([206, 'bytes 1-2/3', 'ne']);
    expect(await get({ Range: 'bytes=3-' })).toEqual([416, 'bytes */3', '']);
    expect(await get({ Range: 'bytes=0-0,2-2' })).toEqual([200, null, 'one']);
    expect(await get({ Range: 'lines=1-2' })).toEqual([200, null, 'one']);
    expect(await get({ Range: 'bytes=1-1', 'If-Range': etag })).toEqual([206, 'bytes 1-1/3', 'n']);
    expect(await get({ Range: 'bytes=1-1', 'If-Range': '"other"' })).toEqual([200, null, 'one']);
  });
});

describe('a file of the storage', () => {
  let server: TestApp;
  let storage: ObjectStorage;
  const fileOf = (key: string) => join(server.dataDir, 'objects', key);
  const temporaryFiles = () => readdir(join(server.dataDir, 'objects', '.incoming'));

  beforeAll(() => {
    server = servers.get('the file system')!;
    storage = server.app.get(ObjectStorage);
  });

  const CONTENT = randomBytes(300_000);
  const stored = async (): Promise<{ key: string; bytes: Buffer }> => {
    const key = `damaged/${randomUUID()}`;
    await storage.put(key, body(CONTENT), CONTENT.length);
    return { key, bytes: await readFile(fileOf(key)) };
  };
  const download = async (key: string): Promise<Buffer> => {
    const url = await storage.downloadUrl(key, {
      filename: 'a',
      contentType: 'text/plain',
      origin: server.url,
    });
    const response = await fetch(url);
    if (response.status !== 200) throw new Error(String(response.status));
    return Buffer.from(await response.arrayBuffer());
  };

  it.each<[string, (bytes: Buffer) => Buffer, string]>([
    ['first byte', (bytes) => flip(bytes, 0), 'Error: 500'],
    ['checksums', (bytes) => flip(bytes, CONTENT.length + 3), 'Error: 500'],
    ['length', (bytes) => flip(bytes, bytes.length - 41), 'Error: 500'],
    ['end, which is missing,', (bytes) => bytes.subarray(0, -1), 'Error: 500'],
    ['end, to which something was added,', (bytes) => Buffer.concat([bytes, Buffer.from('x')]), 'Error: 500'],
    ['everything', () => Buffer.alloc(0), 'Error: 500'],
    // The status has gone out: the connection is cut, and nobody takes what came for the whole.
    ['last byte', (bytes) => flip(bytes, CONTENT.length - 1), 'TypeError: terminated'],
  ])('that was damaged in its %s is never served as good', async (_, damage, expected) => {
    const { key, bytes } = await stored();
    expect((await download(key)).equals(CONTENT)).toBe(true);
    await writeFile(fileOf(key), damage(bytes));
    const logged = jest.spyOn(Logger.prototype, 'error');
    expect(await download(key).then(() => 'served', String)).toBe(expected);
    expect(logged.mock.calls.map(([fields]: { err?: unknown }[]) => fields?.err)).toEqual([
      expect.any(DamagedObjectError),
    ]);
    logged.mockRestore();
  });

  it('is served in the parts that are not damaged', async () => {
    const { key, bytes } = await stored();
    await writeFile(fileOf(key), flip(bytes, 0));
    const url = await storage.downloadUrl(key, {
      filename: 'a',
      contentType: 'text/plain',
      origin: server.url,
    });
    const part = await fetch(url, { headers: { Range: 'bytes=70000-70009' } });
    expect(Buffer.from(await part.arrayBuffer()).equals(CONTENT.subarray(70_000, 70_010))).toBe(true);
    expect((await fetch(url, { headers: { Range: 'bytes=10-19' } })).status).toBe(500);
  });

  it('is not there when the connection is cut half-way, and leaves nothing behind', async () => {
    const key = `cut/${randomUUID()}`;
    const target = await storage.uploadTarget(key, {
      contentType: 'text/plain',
      maxBytes: MEBIBYTE,
      origin: server.url,
    });
    const upload = request(target.url, {
      method: 'PUT',
      headers: { 'Content-Type': 'text/plain', 'Content-Length': MEBIBYTE },
    });
    upload.on('error', () => undefined);
    upload.write(Buffer.alloc(MEBIBYTE / 2));
    await eventually(async () => ((await temporaryFiles()).length > 0 ? true : undefined));
    upload.destroy();
    await eventually(async () => ((await temporaryFiles()).length === 0 ? true : undefined));
    expect(await storage.stat(key)).toBeUndefined();
  });

  it('that a crash left half written is swept after a day, not before', async () => {
    await mkdir(join(server.dataDir, 'objects', '.incoming'), { recursive: true });
    const [old, fresh] = ['old', 'fresh'].map((name) => join(server.dataDir, 'objects', '.incoming', name));
    for (const path of [old!, fresh!]) await writeFile(path, 'x');
    const yesterday = Date.now() / 1000 - 90_000;
    await utimes(old!, yesterday, yesterday);
    await storage.sweepUnfinished(86_400_000);
    expect(await temporaryFiles()).toEqual(['fresh']);
    await storage.sweepUnfinished(-1000);
    expect(await temporaryFiles()).toEqual([]);
  });

  it('survives replacement while it is read', async () => {
    const { key } = await stored();
    const reader = await storage.open(key);
    await storage.put(key, body('new'), 3);
    await storage.delete(key);
    expect(
      createHash('sha256')
        .update(await buffer(reader!.body))
        .digest(),
    ).toEqual(createHash('sha256').update(CONTENT).digest());
  });
});

const flip = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 0xff;
  return copy;
};
