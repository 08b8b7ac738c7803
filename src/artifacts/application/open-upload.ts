import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { ObjectStorage, type UploadTarget } from '../../kernel/storage/object-storage.js';
import type { FileType } from '../domain/artifact.js';
import { ArtifactRepository, MAX_ARTIFACTS } from '../persistence/artifact.repository.js';

export const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** Tells an agent where to put the bytes of a file. They become an artifact when they are reported, within a day. */
@Injectable()
export class OpenUpload {
  constructor(
    private readonly artifacts: ArtifactRepository,
    private readonly storage: ObjectStorage,
  ) {}

  /**
   * @param origin where the agent reaches this service
   * @returns the uid of the artifact to come, and a target for one PUT of at most {@link MAX_FILE_BYTES}
   * @throws Problem 403 when the run has as many uploads and artifacts as it may
   */
  async execute(
    tx: Tx,
    runId: string,
    { type, mimeType }: { type: FileType; mimeType: string },
    origin: string,
  ): Promise<{ uid: string; target: UploadTarget }> {
    const uid = newUuid();
    const objectKey = `artifacts/${runId}/${uid}`;
    if (!(await this.artifacts.openUpload(tx, runId, { uid, type, mimeType, objectKey }))) {
      throw new Problem('budget_exceeded', {
        detail: `A run has at most ${String(MAX_ARTIFACTS)} artifacts, those that are being uploaded among them`,
      });
    }
    const target = await this.storage.uploadTarget(objectKey, {
      contentType: mimeType,
      maxBytes: MAX_FILE_BYTES,
      once: true,
      origin,
    });
    return { uid, target };
  }
}
