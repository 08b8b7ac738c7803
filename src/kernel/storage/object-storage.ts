import type { Readable } from 'node:stream';

/** What is known of an object without reading it. */
export interface ObjectStat {
  sizeBytes: number;
  /** Other bytes have another one. */
  etag: string;
}

export interface StoredObject extends ObjectStat {
  /** The bytes that were asked for. It fails, rather than yield a byte that is not as it was stored. */
  body: Readable;
}

/** A part of an object: from the first to the last byte, both counted from 0 and both included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ListedObject {
  key: string;
  sizeBytes: number;
  modifiedAt: Date;
}

/** Where a client puts the bytes of one object; the shape that published agent CLIs read. */
export interface UploadTarget {
  url: string;
  method: 'PUT' | 'POST';
  headers: Record<string, string> | null;
  fields: null;
}

export interface DownloadOptions {
  filename: string;
  contentType: string;
  /** Where the reader reaches this service; by default at the public URL. */
  origin?: string;
}

export interface UploadOptions {
  /** The PUT must say the same. */
  contentType: string;
  maxBytes: number;
  /** The first PUT that is stored is the only one. */
  once?: boolean;
  /** Where the uploader reaches this service, such as `http://127.0.0.1:8080`; a worker may not reach the public URL. */
  origin: string;
}

/**
 * Where bytes live: a directory, or S3. Keys are paths such as `conversations/{id}/transcript.jsonl`; none is the beginning of another
 * one's path.
 */
export abstract class ObjectStorage {
  /**
   * Stores the whole body under the key, replacing what was there; readers see the old bytes or the new ones, never a part. Once it
   * resolves, a crash loses nothing of it.
   *
   * @param options.once an object that is there stays as it is
   * @throws Problem 413 when the body is longer than `maxBytes`, 503 when the storage is full, 409 when `once` and the object is there;
   *   nothing is stored then
   */
  abstract put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    maxBytes: number,
    options?: { once?: boolean },
  ): Promise<{ sizeBytes: number }>;

  /** Undefined when there is no such object. */
  abstract stat(key: string): Promise<ObjectStat | undefined>;

  /**
   * What a client has put at its target: undefined before that, and where it is longer than was allowed, which a presigned PUT of S3
   * cannot prevent.
   */
  async uploaded(key: string, maxBytes: number): Promise<ObjectStat | undefined> {
    const found = await this.stat(key);
    return found !== undefined && found.sizeBytes <= maxBytes ? found : undefined;
  }

  /**
   * Undefined when there is no such object. The caller consumes or destroys the body.
   *
   * @param range within the object; by default all of it
   */
  abstract open(key: string, range?: ByteRange): Promise<StoredObject | undefined>;

  /** Whoever reads it meanwhile reads it to its end. An object that is not there is deleted already. */
  abstract delete(key: string): Promise<void>;

  /** Up to `limit` objects in the order of their keys, by code units, from the one behind `after` on. */
  abstract list(after: string | undefined, limit: number): Promise<ListedObject[]>;

  /** Removes what was being written when its process died and has not grown for so long. */
  abstract sweepUnfinished(olderThanMs: number): Promise<void>;

  /** A URL that works without a key until it expires, for this object alone. */
  abstract downloadUrl(key: string, options: DownloadOptions): Promise<string>;

  /** A target for a PUT of at most `maxBytes`, valid for as long as a download URL. */
  abstract uploadTarget(key: string, options: UploadOptions): Promise<UploadTarget>;
}
