import type { Tx } from '../../kernel/persistence/database.js';
import type { ArtifactType } from '../domain/artifact.js';

/** What artifacts need of runs. A port of this context, which runs implements: runs imports artifacts, never the reverse. */
export abstract class ArtifactRuns {
  /** The team or the person that owns the run; undefined when there is no such run. It never changes. */
  abstract scopeOf(tx: Tx, runId: string): Promise<string | undefined>;

  /** Lists of runs find this one by the type from now on. */
  abstract addType(tx: Tx, runId: string, type: ArtifactType): Promise<void>;
}
