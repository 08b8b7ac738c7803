import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { ObjectStorage, type UploadTarget } from '../../kernel/storage/object-storage.js';
import {
  AT_THE_END,
  MAX_SNAPSHOT_FILES,
  type SnapshotFileRow,
  SnapshotRepository,
} from '../persistence/snapshot.repository.js';

const MAX_FILE_BYTES = 25 * 1024 * 1024;

/** A file that an execution left behind. */
export interface SnapshotFile {
  id: string;
  fileName: string;
  mimeType: string;
  /** Needs no key, and expires. */
  downloadUrl: string;
}

/** A file that is to be put. */
export interface NamedFile {
  fileName: string;
  mimeType: string;
}

/** Whose snapshot it is. */
interface Execution {
  runId: string;
  executionId: number;
}

/**
 * The files that executions leave behind for whoever continues their work.
 *
 * An execution puts them at its end. One that may not live to see it makes checkpoints meanwhile: it puts the files of a generation and
 * commits them, all or none. What counts is what was put at the end, or else the last generation that was committed.
 */
@Injectable()
export class Snapshots {
  constructor(
    private readonly files: SnapshotRepository,
    private readonly storage: ObjectStorage,
    private readonly database: Database,
  ) {}

  /**
   * Tells where the files that the execution leaves behind at its end are to be put, each at most 25 MiB; a name that came before has its
   * place already.
   *
   * @param origin where the agent reaches this service
   * @returns in the order of the files
   * @throws Problem 403 when the run has as many as it may
   */
  open(tx: Tx, execution: Execution, files: NamedFile[], origin: string): Promise<UploadTarget[]> {
    return this.targets(tx, execution, AT_THE_END, files, origin);
  }

  /**
   * The same for a checkpoint.
   *
   * @throws Problem 400 when this generation, or a later one, is committed already; 403 when the run has as many files as it may
   */
  async openCheckpoint(
    tx: Tx,
    execution: Execution,
    generation: number,
    files: NamedFile[],
    origin: string,
  ): Promise<UploadTarget[]> {
    const committed = await this.files.committed(tx, execution);
    if (committed !== undefined && committed >= generation) throw isCommitted();
    return this.targets(tx, execution, generation, files, origin);
  }

  /**
   * Makes the named files of a generation, all of which have been put, the execution's checkpoint, in place of the one before. Committing
   * the same again changes nothing.
   *
   * @throws Problem 400 when one of the files has not been put, or a later generation is committed already; the checkpoint is then the
   *   one before
   */
  async commit(tx: Tx, execution: Execution, generation: number, fileNames: string[]): Promise<void> {
    const files = await this.files.ofCheckpoint(tx, execution, generation);
    const missing = await Promise.all(
      fileNames.map(async (name) => {
        const file = files.find(({ fileName }) => fileName === name);
        const isThere =
          file !== undefined && (await this.storage.uploaded(file.objectKey, MAX_FILE_BYTES)) !== undefined;
        return isThere ? [] : [name];
      }),
    );
    if (missing.flat().length > 0) {
      const message = `must have been put: ${missing.flat().join(', ')}`;
      throw Problem.invalid([{ field: 'files', message }]);
    }
    if (!(await this.files.commit(tx, execution, generation, fileNames))) throw isCommitted();
  }

  /** What an execution has left behind, as far as its bytes have been put. */
  async of(runId: string, executionId: number): Promise<SnapshotFile[]> {
    const files = await this.files.ofExecution(this.database, { runId, executionId });
    const atTheEnd = await this.thatArePut(files.filter(({ generation }) => generation === AT_THE_END));
    if (atTheEnd.length > 0) return atTheEnd;
    return this.thatArePut(files.filter(({ generation }) => generation !== AT_THE_END));
  }

  private async targets(
    tx: Tx,
    execution: Execution,
    generation: number,
    files: NamedFile[],
    origin: string,
  ): Promise<UploadTarget[]> {
    const targets: UploadTarget[] = [];
    for (const { fileName, mimeType } of files) {
      const id = newUuid();
      const objectKey = `runs/${execution.runId}/snapshots/${id}`;
      const file = await this.files.add(tx, execution, { id, fileName, mimeType, objectKey, generation });
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

  private async thatArePut(files: SnapshotFileRow[]): Promise<SnapshotFile[]> {
    const found = await Promise.all(
      files.map(async ({ id, fileName, mimeType, objectKey }) => {
        if ((await this.storage.uploaded(objectKey, MAX_FILE_BYTES)) === undefined) return [];
        const options = { filename: fileName, contentType: mimeType };
        return [{ id, fileName, mimeType, downloadUrl: await this.storage.downloadUrl(objectKey, options) }];
      }),
    );
    return found.flat();
  }
}

const isCommitted = (): Problem =>
  Problem.invalid([{ field: 'generation', message: 'must be later than the one that is committed' }]);
