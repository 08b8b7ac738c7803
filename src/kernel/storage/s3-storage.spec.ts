import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { Problem } from '../errors/problem.js';
import { S3Storage } from './s3-storage.js';

/** Answers what it is told to, and remembers what it was asked: for what the server of the contract test does not have. */
let server: Server;
let storage: S3Storage;
let asked: { method: string; path: string; condition?: string }[];
let answer: { status: number; body?: string };

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push({
      method: request.method ?? '',
      path: request.url ?? '',
      condition: request.headers['if-none-match'],
    });
    request.resume().on('end', () => {
      const { status, body } = request.method === 'DELETE' ? { status: 204 } : answer;
      response.writeHead(status, { 'content-type': 'application/xml', etag: '"e"' }).end(body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  storage = new S3Storage(
    {
      bucket: 'mill',
      endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      forcePathStyle: true,
    },
    { downloadUrlTtlSeconds: 60 },
  );
});
afterAll(() => {
  storage.close();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  answer = { status: 200 };
});

const put = (options?: { once?: boolean }) =>
  storage.put('k', Readable.from([Buffer.from('x')]), 10, options);
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );

describe('S3', () => {
  it('is told to keep an object that is there where it is put once', async () => {
    await put();
    await put({ once: true });
    expect(asked.map(({ method, condition }) => [method, condition])).toEqual([
      ['PUT', undefined],
      ['PUT', '*'],
    ]);
    answer = { status: 412, body: '<Error><Code>PreconditionFailed</Code></Error>' };
    expect(await codeOf(put({ once: true }))).toBe('conflict');
  });

  it('has the condition in the signature of a target that is used once', async () => {
    const options = { contentType: 'text/plain', maxBytes: 10, origin: '' };
    const target = await storage.uploadTarget('k', { ...options, once: true });
    expect(target.headers).toEqual({ 'Content-Type': 'text/plain', 'If-None-Match': '*' });
    const signed = (url: string) => new URL(url).searchParams.get('X-Amz-SignedHeaders');
    expect(signed(target.url)).toBe('content-type;host;if-none-match');
    expect(signed((await storage.uploadTarget('k', options)).url)).toBe('content-type;host');
  });

  it('is a 503 when it is full or fails', async () => {
    answer = { status: 507, body: '<Error><Code>InsufficientStorage</Code></Error>' };
    expect(await codeOf(put())).toBe('resource_unavailable');
  }, 20_000);

  it('loses the parts of uploads that nobody completed, but not those of today', async () => {
    const upload = (key: string, at: Date) =>
      `<Upload><Key>${key}</Key><UploadId>id-${key}</UploadId><Initiated>${at.toISOString()}</Initiated></Upload>`;
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    answer = {
      status: 200,
      body: `<ListMultipartUploadsResult>${upload('old', hoursAgo(25))}${upload('new', hoursAgo(1))}</ListMultipartUploadsResult>`,
    };
    await storage.sweepUnfinished(24 * 3_600_000);
    expect(asked.filter(({ method }) => method === 'DELETE').map(({ path }) => path)).toEqual([
      '/mill/old?uploadId=id-old&x-id=AbortMultipartUpload',
    ]);
  });
});
