import { Injectable } from '@nestjs/common';
import { Readable } from 'node:stream';
import { newUuid } from '../../kernel/ids.js';
import { ObjectStorage } from '../../kernel/storage/object-storage.js';
import type { StoredAttachment } from '../persistence/attachment.repository.js';

/** Of one file, decoded. */
export const MAX_ATTACHMENT_BYTES = 10 * 1024 * 1024;

/** A file that a run is to be created with. */
export interface NewAttachment {
  /** Chosen beforehand where it may be stored again, which then replaces it. */
  id?: string;
  fileName: string;
  mimeType: string;
  bytes: Buffer;
}

/** Stores the files of a run that is about to be created. Where it is not created after all, the objects harm nobody. */
@Injectable()
export class StoreAttachments {
  constructor(private readonly storage: ObjectStorage) {}

  async execute(runId: string, attachments: NewAttachment[]): Promise<StoredAttachment[]> {
    const stored: StoredAttachment[] = [];
    for (const { id = newUuid(), fileName, mimeType, bytes } of attachments) {
      const objectKey = `runs/${runId}/attachments/${id}`;
      // As one chunk: a Readable over the Buffer itself would be read byte by byte.
      await this.storage.put(objectKey, Readable.from([bytes]), bytes.length);
      stored.push({ id, fileName, mimeType, sizeBytes: bytes.length, objectKey });
    }
    return stored;
  }

  /** Copies an object that is there already, such as a transcript. @returns undefined when it is not */
  async copy(
    runId: string,
    file: { fileName: string; mimeType: string; fromKey: string },
  ): Promise<StoredAttachment | undefined> {
    const object = await this.storage.open(file.fromKey);
    if (object === undefined) return undefined;
    const id = newUuid();
    const objectKey = `runs/${runId}/attachments/${id}`;
    const { sizeBytes } = await this.storage.put(objectKey, object.body, object.sizeBytes);
    return { id, fileName: file.fileName, mimeType: file.mimeType, sizeBytes, objectKey };
  }
}
