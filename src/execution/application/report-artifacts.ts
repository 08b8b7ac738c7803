import { Injectable } from '@nestjs/common';
import {
  type ArtifactReport,
  type FileType,
  type NamedFile,
  OpenUpload,
  ReportArtifact,
  Snapshots,
} from '../../artifacts/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { UploadTarget } from '../../kernel/storage/object-storage.js';
import type { ExecutionRef } from '../../runs/index.js';
import { ExecutionLease } from './execution-lease.js';

/** What the agent of an execution has made: every call renews the lease, and is a 409 when the execution is over. */
@Injectable()
export class ReportArtifacts {
  constructor(
    private readonly lease: ExecutionLease,
    private readonly reportArtifact: ReportArtifact,
    private readonly openUpload: OpenUpload,
    private readonly snapshots: Snapshots,
  ) {}

  /** @returns the artifact's uid */
  async report(tx: Tx, execution: ExecutionRef, report: ArtifactReport): Promise<string> {
    await this.lease.hold(tx, execution);
    return this.reportArtifact.execute(tx, execution.runId, report);
  }

  /** @param origin where the runner reaches this service */
  async uploadTarget(
    tx: Tx,
    execution: ExecutionRef,
    file: { type: FileType; mimeType: string },
    origin: string,
  ): Promise<{ uid: string; target: UploadTarget }> {
    await this.lease.hold(tx, execution);
    return this.openUpload.execute(tx, execution.runId, file, origin);
  }

  /**
   * @param generation of a checkpoint; undefined: the files are what the execution leaves behind at its end
   * @param origin where the runner reaches this service
   */
  async snapshotTargets(
    tx: Tx,
    execution: ExecutionRef,
    { files, generation }: { files: NamedFile[]; generation: number | undefined },
    origin: string,
  ): Promise<UploadTarget[]> {
    await this.lease.hold(tx, execution);
    return generation === undefined
      ? this.snapshots.open(tx, execution, files, origin)
      : this.snapshots.openCheckpoint(tx, execution, generation, files, origin);
  }

  async commitCheckpoint(
    tx: Tx,
    execution: ExecutionRef,
    generation: number,
    fileNames: string[],
  ): Promise<void> {
    await this.lease.hold(tx, execution);
    await this.snapshots.commit(tx, execution, generation, fileNames);
  }
}
