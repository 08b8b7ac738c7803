import type { Readable } from 'node:stream';

export interface StoredObject {
  sizeBytes: number;
  body: Readable;
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
  contentType: string;
  maxBytes: number;
  /** Where the uploader reaches this service, such as `http://127.0.0.1:8080`; a worker may not reach the public URL. */
  origin: string;
}

/** Where bytes live: a directory, or S3. Keys are paths such as `conversations/{id}/transcript.jsonl`. */
export abstract class ObjectStorage {
  /**
   * Stores the whole body under the key, replacing what was there; readers see the old bytes or the new ones, never a part.
   *
   * @throws Problem 413 when the body is longer than `maxBytes`; nothing is stored then
   */
  abstract put(key: string, body: Readable, maxBytes: number): Promise<{ sizeBytes: number }>;

  /** Undefined when there is no such object. The caller consumes or destroys the body. */
  abstract open(key: string): Promise<StoredObject | undefined>;

  abstract exists(key: string): Promise<boolean>;

  /** A URL that works without a key until it expires, for this object alone. */
  abstract downloadUrl(key: string, options: DownloadOptions): Promise<string>;

  /** A target for one PUT of at most `maxBytes`, valid for as long as a download URL. */
  abstract uploadTarget(key: string, options: UploadOptions): Promise<UploadTarget>;
}
