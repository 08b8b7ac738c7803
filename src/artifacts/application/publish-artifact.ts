import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { ArtifactRepository } from '../persistence/artifact.repository.js';
import { artifactVisibility } from './artifact-visibility.js';

/** Makes an artifact public or private. URLs that were signed before live until they expire. */
@Injectable()
export class PublishArtifact {
  constructor(private readonly artifacts: ArtifactRepository) {}

  /** @returns false for an artifact of a run that the caller may not know of */
  execute(tx: Tx, caller: AccountCaller, uid: string, isPublic: boolean): Promise<boolean> {
    return this.artifacts.setPublic(tx, uid, artifactVisibility(caller).scopeUids, isPublic);
  }
}
