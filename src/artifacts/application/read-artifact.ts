import { Injectable } from '@nestjs/common';
import type { Caller } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Clock, SECOND } from '../../kernel/clock.js';
import { AppConfig } from '../../config/app-config.js';
import { ObjectStorage } from '../../kernel/storage/object-storage.js';
import { type ArtifactView, type FileArtifact, isFile, type PlanContent } from '../domain/artifact.js';
import { ArtifactReadModel } from '../persistence/artifact.read-model.js';
import { artifactVisibility, sees } from './artifact-visibility.js';

export type PlanArtifact = Extract<ArtifactView, { artifact_type: 'PLAN' }>;

/** What there is to read of an artifact. */
export type ReadableArtifact =
  | { kind: 'plan'; artifact: PlanArtifact; current: PlanContent | undefined }
  | {
      kind: 'file';
      artifact: FileArtifact;
      downloadUrl: string;
      expiresAt: Date;
      /** The reader may see the run: the paths of its files, too. */
      seesRun: boolean;
    };

/**
 * Reads an artifact: a public one for anybody, a private one for whoever sees its run. To others neither exists; somebody without a key is
 * told to bring one, whether or not there is such an artifact.
 */
@Injectable()
export class ReadArtifact {
  constructor(
    private readonly artifacts: ArtifactReadModel,
    private readonly storage: ObjectStorage,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  /**
   * @param caller undefined for somebody without a key
   * @throws Problem 401, 404; also for the types that have nothing to read
   */
  async execute(caller: Caller | undefined, uid: string): Promise<ReadableArtifact> {
    const artifact = await this.artifacts.find(uid);
    const seesRun =
      caller !== undefined && artifact !== undefined && sees(artifactVisibility(caller), artifact);
    if (artifact === undefined || !(artifact.public || seesRun)) {
      if (caller === undefined) {
        throw new Problem('authentication_required', {
          detail: 'Artifacts that are not public take an API key',
        });
      }
      throw Problem.notFound('artifact');
    }
    if (artifact.artifact_type === 'PLAN') {
      return { kind: 'plan', artifact, current: await this.artifacts.planContent(uid) };
    }
    if (!isFile(artifact)) throw Problem.notFound('artifact with content');
    // Taken before it is signed: the URL lives at least until then.
    const expiresAt = new Date(this.clock.now().getTime() + this.config.downloadUrlTtlSeconds * SECOND);
    const { filename, mime_type: contentType } = artifact.data;
    const downloadUrl = await this.storage.downloadUrl(artifact.object_key, { filename, contentType });
    return { kind: 'file', artifact, downloadUrl, expiresAt, seesRun };
  }
}
