import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  type GetObjectCommandOutput,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { create as contentDisposition } from 'content-disposition';
import { Readable } from 'node:stream';
import type { AppConfig, S3Config } from '../../config/app-config.js';
import { Problem } from '../errors/problem.js';
import {
  type ByteRange,
  type DownloadOptions,
  type ListedObject,
  type ObjectStat,
  ObjectStorage,
  type StoredObject,
  type UploadOptions,
  type UploadTarget,
} from './object-storage.js';

/** What one put holds in memory is at most twice this; S3 takes 10,000 parts, so an object of at most 78 GiB. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_AT_ONCE = 2;

const CONNECT_TIMEOUT_MS = 5_000;
/** A connection on which nothing moves for so long is given up, and the request tried again (three times in all). */
const SILENCE_LIMIT_MS = 20_000;

/** S3 lists at most so many at a time. */
const MAX_KEYS = 1_000;

/**
 * Objects in a bucket of S3, or of anything that speaks its protocol. Readers and uploaders go to the bucket itself, by presigned URLs: the
 * markup in an object is another origin's. Where S3 keeps checksums, the SDK checks what it reads against them.
 */
export class S3Storage extends ObjectStorage {
  private readonly client: S3Client;
  private readonly bucket: string;

  constructor(
    { bucket, endpoint, region, credentials, forcePathStyle }: S3Config,
    private readonly config: Pick<AppConfig, 'downloadUrlTtlSeconds'>,
    silenceLimitMs = SILENCE_LIMIT_MS,
  ) {
    super();
    this.bucket = bucket;
    this.client = new S3Client({
      endpoint,
      region,
      // Left out, the SDK looks where it always does: the environment, a profile, the role of the machine.
      ...(credentials === undefined ? {} : { credentials: { ...credentials } }),
      forcePathStyle,
      // Servers that are not Amazon's refuse the checksums that the SDK adds by itself, and no presigned PUT could carry them.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      // By itself it would wait for ever.
      requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: silenceLimitMs },
    });
  }

  /** Ends the connections that are kept. */
  close(): void {
    this.client.destroy();
  }

  override async put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    maxBytes: number,
    { once = false }: { once?: boolean } = {},
  ): Promise<{ sizeBytes: number }> {
    let sizeBytes = 0;
    let failure: unknown;
    async function* counted(): AsyncIterable<Uint8Array> {
      try {
        for await (const chunk of body) {
          sizeBytes += chunk.length;
          if (sizeBytes > maxBytes) {
            throw new Problem('payload_too_large', { detail: `at most ${String(maxBytes)} bytes` });
          }
          yield chunk;
        }
      } catch (error) {
        failure = error;
        throw error;
      }
    }
    // A short body is one PUT, a longer one parts; parts that are not completed are removed when it fails.
    const upload = new Upload({
      client: this.client,
      params: {
        Bucket: this.bucket,
        Key: key,
        Body: Readable.from(counted(), { objectMode: false }),
        ...(once ? { IfNoneMatch: '*' } : {}),
      },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
    });
    try {
      await upload.done();
    } catch (error) {
      // Of a body that failed, not of the upload that could not be taken back then.
      throw failure ?? asProblem(error);
    }
    return { sizeBytes };
  }

  override async stat(key: string): Promise<ObjectStat | undefined> {
    const head = await this.client
      .send(new HeadObjectCommand({ Bucket: this.bucket, Key: key }))
      .catch(undefinedIfMissing);
    return head && { sizeBytes: head.ContentLength ?? 0, etag: unquoted(head.ETag) };
  }

  override async open(key: string, range?: ByteRange): Promise<StoredObject | undefined> {
    const object: GetObjectCommandOutput | undefined = await this.client
      .send(
        new GetObjectCommand({
          Bucket: this.bucket,
          Key: key,
          Range: range && `bytes=${String(range.start)}-${String(range.end)}`,
        }),
      )
      .catch(undefinedIfMissing);
    if (object === undefined) return undefined;
    const whole = object.ContentRange?.split('/').at(-1) ?? object.ContentLength;
    return { sizeBytes: Number(whole ?? 0), etag: unquoted(object.ETag), body: object.Body as Readable };
  }

  override async delete(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: key })).catch(fail);
  }

  override async list(after: string | undefined, limit: number): Promise<ListedObject[]> {
    const page = await this.client
      .send(
        new ListObjectsV2Command({
          Bucket: this.bucket,
          StartAfter: after,
          MaxKeys: Math.min(limit, MAX_KEYS),
        }),
      )
      .catch(fail);
    return (page.Contents ?? []).map(({ Key, Size, LastModified }) => ({
      key: Key ?? '',
      sizeBytes: Size ?? 0,
      modifiedAt: LastModified ?? new Date(0),
    }));
  }

  /** Parts of uploads that were never completed. They are no objects, but they are paid for. */
  override async sweepUnfinished(olderThanMs: number): Promise<void> {
    const before = Date.now() - olderThanMs;
    const { Uploads = [] } = await this.client
      .send(new ListMultipartUploadsCommand({ Bucket: this.bucket }))
      .catch(fail);
    for (const { Key, UploadId, Initiated } of Uploads) {
      if (Initiated === undefined || Initiated.getTime() > before) continue;
      await this.client
        .send(new AbortMultipartUploadCommand({ Bucket: this.bucket, Key, UploadId }))
        .catch(undefinedIfMissing);
    }
  }

  override downloadUrl(key: string, { filename, contentType }: DownloadOptions): Promise<string> {
    return getSignedUrl(
      this.client,
      new GetObjectCommand({
        Bucket: this.bucket,
        Key: key,
        ResponseContentType: contentType,
        ResponseContentDisposition: contentDisposition(filename),
        ResponseCacheControl: 'private, no-store',
      }),
      { expiresIn: this.config.downloadUrlTtlSeconds },
    );
  }

  /** S3 cannot bound the length of a presigned PUT: whoever takes the object over asks for what was `uploaded`. */
  override async uploadTarget(
    key: string,
    { contentType, once = false }: UploadOptions,
  ): Promise<UploadTarget> {
    const condition: Record<string, string> = once ? { 'If-None-Match': '*' } : {};
    const url = await getSignedUrl(
      this.client,
      new PutObjectCommand({
        Bucket: this.bucket,
        Key: key,
        ContentType: contentType,
        ...(once ? { IfNoneMatch: '*' } : {}),
      }),
      {
        expiresIn: this.config.downloadUrlTtlSeconds,
        signableHeaders: new Set(['content-type', 'host', ...(once ? ['if-none-match'] : [])]),
        unhoistableHeaders: new Set(['if-none-match']),
      },
    );
    return { url, method: 'PUT', headers: { 'Content-Type': contentType, ...condition }, fields: null };
  }
}

const unquoted = (etag: string | undefined): string => (etag ?? '').replaceAll('"', '');

const statusOf = (error: unknown): number | undefined =>
  error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;

function undefinedIfMissing(error: unknown): undefined {
  if (statusOf(error) === 404) return undefined;
  return fail(error);
}

function fail(error: unknown): never {
  throw asProblem(error);
}

/** Errors of a connection that could not be made or was lost. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'TimeoutError',
]);

function asProblem(error: unknown): unknown {
  if (error instanceof Problem) return error;
  const status = statusOf(error);
  if (status === 412) {
    return new Problem('conflict', { detail: 'The bytes have been put already', retryable: false });
  }
  const { code, name } = error as { code?: string; name?: string };
  if ((status ?? 0) >= 500 || UNREACHABLE.has(code ?? name ?? '')) {
    return new Problem('resource_unavailable', {
      detail: 'The object storage cannot be reached or is full',
      cause: error,
    });
  }
  return error;
}
