import { Injectable } from '@nestjs/common';
import type { Caller } from '../../identities/index.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { ObjectStorage, type UploadTarget } from '../../kernel/storage/object-storage.js';
import { AttachmentRepository } from '../persistence/attachment.repository.js';
import { RunReadModel } from '../persistence/run.read-model.js';
import { runVisibility } from './run-visibility.js';
import { MAX_ATTACHMENT_BYTES } from './store-attachments.js';

export type PrepareAttachmentsOutcome =
  | { outcome: 'prepared'; attachments: { id: string; target: UploadTarget }[] }
  | { outcome: 'not_found' }
  | { outcome: 'too_many' };

/**
 * Files that a run is given once it is there, such as those of a follow-up. Whoever gives one puts its bytes themselves; its next
 * execution finds it in place, and the one at work downloads it.
 */
@Injectable()
export class ExchangeAttachments {
  constructor(
    private readonly runs: RunReadModel,
    private readonly attachments: AttachmentRepository,
    private readonly storage: ObjectStorage,
    private readonly database: Database,
  ) {}

  /**
   * Tells where the bytes of files are to be put, each at most 10 MiB.
   *
   * @param origin where the caller reaches this service
   * @returns in the order of the files
   */
  async prepare(
    tx: Tx,
    caller: Caller,
    runId: string,
    files: { fileName: string; mimeType: string }[],
    origin: string,
  ): Promise<PrepareAttachmentsOutcome> {
    const added = files.map((file) => {
      const id = newUuid();
      return { ...file, id, sizeBytes: null, objectKey: `runs/${runId}/attachments/${id}` };
    });
    const outcome = await this.attachments.add(tx, runId, runVisibility(caller), added);
    if (outcome !== 'added') return { outcome };
    const attachments = added.map(async ({ id, mimeType, objectKey }) => ({
      id,
      target: await this.storage.uploadTarget(objectKey, {
        contentType: mimeType,
        maxBytes: MAX_ATTACHMENT_BYTES,
        origin,
      }),
    }));
    return { outcome: 'prepared', attachments: await Promise.all(attachments) };
  }

  /**
   * Where the files with these ids are to be had, without those that the run has not or whose bytes have not been put; undefined for a
   * run that the caller may not know of.
   *
   * @param origin where the caller reaches this service
   */
  async download(
    caller: Caller,
    runId: string,
    ids: string[],
    origin: string,
  ): Promise<{ id: string; downloadUrl: string }[] | undefined> {
    if (!(await this.runs.exists(runId, runVisibility(caller)))) return undefined;
    const attachments = await this.attachments.ofRun(this.database, runId);
    const found = await Promise.all(
      attachments
        .filter(({ id }) => ids.includes(id))
        .map(async ({ id, fileName, mimeType, objectKey }) => {
          if ((await this.storage.uploaded(objectKey, MAX_ATTACHMENT_BYTES)) === undefined) return [];
          const options = { filename: fileName, contentType: mimeType, origin };
          return [{ id, downloadUrl: await this.storage.downloadUrl(objectKey, options) }];
        }),
    );
    return found.flat();
  }
}
