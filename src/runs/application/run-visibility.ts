import { type Caller, ownedBy } from '../../identities/index.js';
import type { RunVisibility } from '../persistence/run.read-model.js';

/** A person sees what their active team owns and what they own themselves; a run's own agent sees that run. */
export function runVisibility(caller: Caller): RunVisibility {
  switch (caller.kind) {
    case 'user':
    case 'agent':
      return { ...ownedBy(caller), runId: null };
    case 'run':
      return { teamUid: null, ownerUid: null, runId: caller.runId };
  }
}
