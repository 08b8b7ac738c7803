import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { ObjectStorage, type UploadTarget } from '../../kernel/storage/object-storage.js';
import { MAX_SNAPSHOT_FILES, SnapshotRepository } from '../persistence/snapshot.repository.js';

const MAX_FILE_BYTES = 25 * 1024 * 1024;

/** A file that an execution left behind. */
export interface SnapshotFile {
  id: string;
  fileName: string;
  mimeType: string;
  /** Needs no key, and expires. */
  downloadUrl: string;
}

/** The files that executions leave behind for whoever continues their work. */
@Injectable()
export class Snapshots {
  constructor(
    private readonly files: SnapshotRepository,
    private readonly storage: ObjectStorage,
    private readonly database: Database,
  ) {}

  /**
   * Tells where the files of the execution's snapshot are to be put, each at most 25 MiB; a name that came before has its place already.
   *
   * @param origin where the agent reaches this service
   * @returns in the order of the files
   * @throws Problem 403 when the run has as many as it may
   */
  async open(
    tx: Tx,
    execution: { runId: string; executionId: number },
    files: { fileName: string; mimeType: string }[],
    origin: string,
  ): Promise<UploadTarget[]> {
    const targets: UploadTarget[] = [];
    for (const { fileName, mimeType } of files) {
      const id = newUuid();
      const objectKey = `runs/${execution.runId}/snapshots/${id}`;
      const file = await this.files.add(tx, execution, { id, fileName, mimeType, objectKey });
      if (file === undefined) {
        throw new Problem('budget_exceeded', {
          detail: `The snapshots of a run have at most ${String(MAX_SNAPSHOT_FILES)} files`,
        });
      }
      targets.push(
        await this.storage.uploadTarget(file.objectKey, {
          contentType: mimeType,
          maxBytes: MAX_FILE_BYTES,
          origin,
        }),
      );
    }
    return targets;
  }

  /** The files of an execution's snapshot whose bytes have been put. */
  async of(runId: string, executionId: number): Promise<SnapshotFile[]> {
    const files = await this.files.ofExecution(this.database, runId, executionId);
    const found = await Promise.all(
      files.map(async ({ id, fileName, mimeType, objectKey }) => {
        if ((await this.storage.stat(objectKey)) === undefined) return [];
        const options = { filename: fileName, contentType: mimeType };
        return [{ id, fileName, mimeType, downloadUrl: await this.storage.downloadUrl(objectKey, options) }];
      }),
    );
    return found.flat();
  }
}
