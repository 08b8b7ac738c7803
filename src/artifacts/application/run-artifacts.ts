import { Injectable } from '@nestjs/common';
import type { Caller } from '../../identities/index.js';
import type { ArtifactView } from '../domain/artifact.js';
import { canonicalUrl } from '../domain/canonical-url.js';
import { identityOf } from '../domain/identity.js';
import { ArtifactReadModel } from '../persistence/artifact.read-model.js';
import { artifactVisibility } from './artifact-visibility.js';

/** From runs to their artifacts, and from a reference to its run. */
@Injectable()
export class RunArtifacts {
  constructor(private readonly artifacts: ArtifactReadModel) {}

  /** One query, however many runs; the caller must be allowed to see them. Each has an entry, the earliest artifact first. */
  of(runIds: string[]): Promise<Map<string, ArtifactView[]>> {
    return this.artifacts.ofRuns(runIds);
  }

  /** The run that was the last to report the URL as an external reference, of those that the caller may see. */
  async reporterOf(caller: Caller, url: string): Promise<string | undefined> {
    const canonical = canonicalUrl(url);
    if (canonical === undefined) return undefined;
    return this.artifacts.latestReporter(identityOf(canonical), artifactVisibility(caller));
  }
}
