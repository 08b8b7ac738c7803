import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { newUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { ObjectStorage } from '../../kernel/storage/object-storage.js';
import type { ArtifactReport, FileType } from '../domain/artifact.js';
import { canonicalUrl } from '../domain/canonical-url.js';
import { identityOf } from '../domain/identity.js';
import {
  ArtifactRepository,
  type ArtifactToStore,
  MAX_ARTIFACTS,
} from '../persistence/artifact.repository.js';
import { ArtifactRuns } from './artifact-runs.js';
import { MAX_FILE_BYTES } from './open-upload.js';

/**
 * Keeps what the agent of a run has made. A plan is recognised by its document, a pull request or a reference by the canonical form
 * of its URL, a file by its upload: a report that is repeated changes what was said of it and makes nothing new.
 */
@Injectable()
export class ReportArtifact {
  constructor(
    private readonly artifacts: ArtifactRepository,
    private readonly runs: ArtifactRuns,
    private readonly storage: ObjectStorage,
  ) {}

  /**
   * @returns the artifact's uid
   * @throws Problem 400 naming the field, 403 when the run has as many artifacts as it may
   */
  async execute(tx: Tx, runId: string, report: ArtifactReport): Promise<string> {
    const scopeUid = await this.runs.scopeOf(tx, runId);
    if (scopeUid === undefined) throw Problem.notFound('run');
    const run = { runId, scopeUid };
    const uid = await this.store(tx, run, report);
    await this.runs.addType(tx, runId, report.type);
    return uid;
  }

  private async store(tx: Tx, run: RunOfArtifact, report: ArtifactReport): Promise<string> {
    switch (report.type) {
      case 'PLAN': {
        const uid = await this.insert(tx, {
          ...run,
          ...described(report),
          ...identified(report.data.document_uid),
        });
        if (report.content !== undefined) await this.artifacts.addPlanVersion(tx, uid, report.content);
        return uid;
      }
      case 'PULL_REQUEST':
      case 'EXTERNAL_REFERENCE': {
        const canonical = canonicalUrl(report.data.url);
        if (canonical === undefined)
          throw invalid('data.url', 'must be an http or https URL without credentials');
        return this.insert(tx, { ...run, ...described(report), ...identified(canonical) });
      }
      case 'FILE':
      case 'SCREENSHOT':
        return this.storeFile(tx, run, report);
    }
  }

  private async storeFile(
    tx: Tx,
    run: RunOfArtifact,
    report: Extract<ArtifactReport, { type: FileType }>,
  ): Promise<string> {
    const { type, uid, data } = report;
    const upload = await this.artifacts.lockUpload(tx, run.runId, uid, type);
    if (upload === undefined) {
      if (await this.artifacts.isReported(tx, run.runId, uid, type)) return uid;
      throw invalid('data.artifact_uid', 'must be that of an upload of this run and type');
    }
    const { objectKey, mimeType } = upload;
    const object = await this.storage.stat(objectKey);
    if (object === undefined)
      throw invalid('data.artifact_uid', 'names an upload whose bytes have not been put yet');
    // S3 does not keep to the limit of a target by itself.
    if (object.sizeBytes > MAX_FILE_BYTES) {
      throw new Problem('payload_too_large', { detail: `at most ${String(MAX_FILE_BYTES)} bytes` });
    }
    await this.insert(tx, {
      ...run,
      uid,
      type,
      identity: uid,
      data: { ...data, mime_type: mimeType },
      objectKey,
      sizeBytes: object.sizeBytes,
    });
    await this.artifacts.closeUpload(tx, uid);
    return uid;
  }

  private async insert(tx: Tx, artifact: ArtifactToStore): Promise<string> {
    const uid = await this.artifacts.store(tx, artifact);
    if (uid === undefined) {
      throw new Problem('budget_exceeded', {
        detail: `A run has at most ${String(MAX_ARTIFACTS)} artifacts`,
      });
    }
    return uid;
  }
}

type RunOfArtifact = Pick<ArtifactToStore, 'runId' | 'scopeUid'>;

const described = ({ type, data }: ArtifactReport): Pick<ArtifactToStore, 'type' | 'data'> => ({
  type,
  data,
});

const identified = (text: string): Pick<ArtifactToStore, 'uid' | 'identity'> => ({
  uid: newUuid(),
  identity: identityOf(text),
});

const invalid = (field: string, message: string): Problem => Problem.invalid([{ field, message }]);
