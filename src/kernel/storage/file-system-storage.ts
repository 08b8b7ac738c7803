import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppConfig } from '../../config/app-config.js';
import { Clock, SECOND } from '../clock.js';
import { Problem } from '../errors/problem.js';
import { Keyring } from '../security/keyring.js';
import { signToken } from '../security/signed-token.js';
import {
  type DownloadOptions,
  ObjectStorage,
  type StoredObject,
  type UploadOptions,
  type UploadTarget,
} from './object-storage.js';
import type { ObjectGrant } from './object-grant.js';

const KEY = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_.-]+)*$/;

/** Objects as files below the data directory, served by this service's own `/objects` routes. */
@Injectable()
export class FileSystemStorage extends ObjectStorage {
  private readonly root: string;

  constructor(
    private readonly config: AppConfig,
    private readonly keyring: Keyring,
    private readonly clock: Clock,
  ) {
    super();
    this.root = join(config.dataDir, 'objects');
  }

  /** Written beside its place, flushed to the disk, then renamed: a crash leaves the old object or the new one. */
  async put(key: string, body: Readable, maxBytes: number): Promise<{ sizeBytes: number }> {
    const path = this.pathOf(key);
    const directory = dirname(path);
    const temporary = join(directory, `.${randomUUID()}.part`);
    let sizeBytes = 0;
    const limit = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        sizeBytes += chunk.length;
        if (sizeBytes > maxBytes) {
          done(new Problem('payload_too_large', { detail: `at most ${String(maxBytes)} bytes` }));
        } else {
          done(null, chunk);
        }
      },
    });
    await mkdir(directory, { recursive: true });
    try {
      await pipeline(body, limit, createWriteStream(temporary, { flags: 'wx', mode: 0o600, flush: true }));
      await rename(temporary, path);
      await syncDirectory(directory);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return { sizeBytes };
  }

  async open(key: string): Promise<StoredObject | undefined> {
    try {
      const file = await open(this.pathOf(key));
      const { size } = await file.stat();
      return { sizeBytes: size, body: file.createReadStream() };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async exists(key: string): Promise<boolean> {
    try {
      await access(this.pathOf(key));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  downloadUrl(key: string, { filename, contentType, origin }: DownloadOptions): Promise<string> {
    return Promise.resolve(
      this.url(origin ?? this.config.publicUrl, {
        operation: 'get',
        key,
        filename,
        contentType,
        expiresAt: this.expiry(),
      }),
    );
  }

  uploadTarget(key: string, options: UploadOptions): Promise<UploadTarget> {
    return Promise.resolve({
      url: this.url(options.origin, {
        operation: 'put',
        key,
        maxBytes: options.maxBytes,
        expiresAt: this.expiry(),
      }),
      method: 'PUT',
      headers: { 'Content-Type': options.contentType },
      fields: null,
    });
  }

  private url(origin: string, grant: ObjectGrant): string {
    return `${origin}/objects/${signToken(this.keyring, 'object-url', grant)}`;
  }

  private expiry(): number {
    return this.clock.now().getTime() + this.config.downloadUrlTtlSeconds * SECOND;
  }

  private pathOf(key: string): string {
    // Keys are made by us; the check keeps a mistake from ever leaving the directory.
    if (!KEY.test(key) || key.split('/').includes('..')) throw new Error(`not an object key: ${key}`);
    return join(this.root, key);
  }
}

const isMissing = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';

/** Makes a rename durable (POSIX: the directory entry is data of the directory). */
async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory; NTFS journals the rename itself.
  if (process.platform === 'win32') return;
  const directory = await open(path);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
