import { type Caller, ownedBy } from '../../identities/index.js';
import type { ArtifactVisibility } from '../persistence/artifact.read-model.js';

/** A person sees the artifacts of their active team's runs and of their own; a run's own agent sees those of that run. */
export function artifactVisibility(caller: Caller): ArtifactVisibility {
  switch (caller.kind) {
    case 'user':
    case 'agent': {
      const { teamUid, ownerUid } = ownedBy(caller);
      return { scopeUids: [teamUid, ownerUid].filter((uid) => uid !== null), runId: null };
    }
    case 'run':
      return { scopeUids: [], runId: caller.runId };
  }
}

export const sees = (
  { scopeUids, runId }: ArtifactVisibility,
  artifact: { scope_uid: string; run_id: string },
): boolean => scopeUids.includes(artifact.scope_uid) || artifact.run_id === runId;
