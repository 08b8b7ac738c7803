import type { ExecutionView } from '../protocol/harness-support.js';
import type { Harness } from './harness.js';
import { scriptHarness } from './script-harness.js';

export type HarnessSelection =
  { kind: 'selected'; harness: Harness } | { kind: 'unsupported'; message: string };

/** The harness that executes a run, or why this runner has none for it. */
export function selectHarness({ type, model_id }: ExecutionView['harness']): HarnessSelection {
  switch (type) {
    case 'oz':
      if (model_id === 'script') return { kind: 'selected', harness: scriptHarness };
      return unsupported(`the model ${JSON.stringify(model_id)} of the built-in harness`);
    case 'claude':
    case 'gemini':
    case 'codex':
      return unsupported(`the harness "${type}"`);
  }
}

function unsupported(what: string): HarnessSelection {
  return {
    kind: 'unsupported',
    message:
      `The runner of this worker does not support ${what}. ` +
      'Choose the built-in harness with the model "script", or a worker that has this one.',
  };
}
