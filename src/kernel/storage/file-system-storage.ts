import { randomUUID } from 'node:crypto';
import { type Dirent } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AppConfig } from '../../config/app-config.js';
import { type Clock, SECOND } from '../clock.js';
import { Problem } from '../errors/problem.js';
import type { Keyring } from '../security/keyring.js';
import { signToken } from '../security/signed-token.js';
import type { ObjectGrant } from './object-grant.js';
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
import { SealedFile, writeSealed } from './sealed-file.js';

const KEY = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_.-]+)*$/;
/** Its name is no key: what is being written never shows among the objects. */
const TEMPORARY = '.incoming';

/**
 * Objects as files below the data directory, served by this service's own `/objects` routes. A file is written beside the objects, flushed
 * to the disk, then renamed: a crash leaves the old object or the new one, and at most a temporary file, which is swept.
 */
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

  override async put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    maxBytes: number,
    { once = false }: { once?: boolean } = {},
  ): Promise<{ sizeBytes: number }> {
    const path = this.pathOf(key);
    const temporary = join(this.root, TEMPORARY, randomUUID());
    try {
      await makeDirectory(dirname(temporary));
      const file = await open(temporary, 'wx', 0o600);
      let sizeBytes: number;
      try {
        sizeBytes = await writeSealed(file, body, maxBytes);
      } finally {
        await file.close();
      }
      await makeDirectory(dirname(path));
      // Unlike a rename, a link to a name that is taken fails.
      await (once ? link(temporary, path) : rename(temporary, path));
      await syncDirectory(dirname(path));
      return { sizeBytes };
    } catch (error) {
      throw asProblem(error);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  override async stat(key: string): Promise<ObjectStat | undefined> {
    const file = await this.openFile(key);
    await file?.close();
    return file && { sizeBytes: file.length, etag: file.etag };
  }

  override async open(key: string, range?: ByteRange): Promise<StoredObject | undefined> {
    const file = await this.openFile(key);
    return file && { sizeBytes: file.length, etag: file.etag, body: file.read(range) };
  }

  override async delete(key: string): Promise<void> {
    await rm(this.pathOf(key), { force: true });
  }

  /** Reads no directory that lies wholly before the beginning of the page or behind its end. */
  override async list(after: string | undefined, limit: number): Promise<ListedObject[]> {
    const found: ListedObject[] = [];
    await this.walk('', after ?? '', limit, found);
    return found;
  }

  private async walk(prefix: string, after: string, limit: number, found: ListedObject[]): Promise<void> {
    for (const entry of (await entriesOf(join(this.root, prefix))).sort(byKey)) {
      if (found.length >= limit) return;
      const key = prefix + entry.name;
      if (entry.isDirectory()) {
        // Every key below begins with the directory's own.
        const below = `${key}/`;
        if (entry.name !== TEMPORARY && (below > after || after.startsWith(below))) {
          await this.walk(below, after, limit, found);
        }
      } else if (key > after) {
        const file = await stat(join(this.root, key)).catch(ifMissing(undefined));
        if (file !== undefined) found.push({ key, sizeBytes: file.size, modifiedAt: file.mtime });
      }
    }
  }

  override async sweepUnfinished(olderThanMs: number): Promise<void> {
    const directory = join(this.root, TEMPORARY);
    for (const { name } of await entriesOf(directory)) {
      const path = join(directory, name);
      const file = await stat(path).catch(ifMissing(undefined));
      if (file === undefined || file.mtimeMs > this.clock.now().getTime() - olderThanMs) continue;
      await rm(path, { force: true });
    }
  }

  override downloadUrl(key: string, { filename, contentType, origin }: DownloadOptions): Promise<string> {
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

  override uploadTarget(key: string, options: UploadOptions): Promise<UploadTarget> {
    const { contentType, maxBytes, once = false, origin } = options;
    return Promise.resolve({
      url: this.url(origin, { operation: 'put', key, contentType, maxBytes, once, expiresAt: this.expiry() }),
      method: 'PUT',
      headers: { 'Content-Type': contentType },
      fields: null,
    });
  }

  private url(origin: string, grant: ObjectGrant): string {
    return `${origin}/objects/${signToken(this.keyring, 'object-url', grant)}`;
  }

  private expiry(): number {
    return this.clock.now().getTime() + this.config.downloadUrlTtlSeconds * SECOND;
  }

  private openFile(key: string): Promise<SealedFile | undefined> {
    return SealedFile.open(this.pathOf(key)).catch(ifMissing(undefined));
  }

  private pathOf(key: string): string {
    // Keys are made by us; the check keeps a mistake from ever leaving the directory.
    if (!KEY.test(key) || key.split('/').includes('..')) throw new Error(`not an object key: ${key}`);
    return join(this.root, key);
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

/** Errors of a disk, a quota or a file that may grow no further. */
const FULL = new Set<unknown>(['ENOSPC', 'EDQUOT', 'EFBIG']);

function asProblem(error: unknown): unknown {
  const code = codeOf(error);
  if (FULL.has(code)) {
    return new Problem('resource_unavailable', { detail: 'The storage is full', cause: error });
  }
  if (code === 'EEXIST') {
    return new Problem('conflict', { detail: 'The bytes have been put already', retryable: false });
  }
  return error;
}

const ifMissing =
  <T>(value: T) =>
  (error: unknown): T => {
    if (codeOf(error) === 'ENOENT') return value;
    throw error;
  };

const entriesOf = (directory: string): Promise<Dirent[]> =>
  readdir(directory, { withFileTypes: true }).catch(ifMissing<Dirent[]>([]));

/** In the order of the keys below: those of the directory `a` begin with `a/`, so they stand behind `a-` and `a.`. */
function byKey(a: Dirent, b: Dirent): number {
  const keyOf = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name);
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

/** Makes it and whatever of its parents is missing, for good. */
async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}

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
