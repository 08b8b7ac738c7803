import { Injectable } from '@nestjs/common';
import { ArtifactRuns, type ArtifactType } from '../../artifacts/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { artifactFacet } from '../domain/run-facets.js';
import { RunSearch } from './run-search.js';

/** What artifacts need of runs. */
@Injectable()
export class ArtifactRunsAdapter extends ArtifactRuns {
  constructor(private readonly search: RunSearch) {
    super();
  }

  override async scopeOf(tx: Tx, runId: string): Promise<string | undefined> {
    const rows = await tx.query<{ scope_uid: string }>(
      'SELECT coalesce(team_uid, owner_uid) AS scope_uid FROM runs WHERE id = $1',
      [runId],
    );
    return rows[0]?.scope_uid;
  }

  override addType(tx: Tx, runId: string, type: ArtifactType): Promise<void> {
    return this.search.addFacet(tx, runId, artifactFacet(type));
  }
}
