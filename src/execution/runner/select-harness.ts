import type { ExecutionView } from '../protocol/harness-support.js';
import { claude } from './agents/claude.js';
import { cliHarness } from './agents/cli-harness.js';
import { codex } from './agents/codex.js';
import { gemini } from './agents/gemini.js';
import type { Harness } from './harness.js';
import { scriptHarness } from './script-harness.js';

export type HarnessSelection =
  { kind: 'selected'; harness: Harness } | { kind: 'unsupported'; message: string };

/** The harness that executes a run, or why this runner has none for it. */
export function selectHarness({ type, model_id }: ExecutionView['harness']): HarnessSelection {
  switch (type) {
    case 'oz':
      if (model_id === 'script') return { kind: 'selected', harness: scriptHarness };
      return {
        kind: 'unsupported',
        message:
          `The built-in harness has no model ${JSON.stringify(model_id)}. ` +
          'Choose the model "script", or the harness claude, codex or gemini.',
      };
    case 'claude':
      return { kind: 'selected', harness: cliHarness(claude, model_id) };
    case 'codex':
      return { kind: 'selected', harness: cliHarness(codex, model_id) };
    case 'gemini':
      return { kind: 'selected', harness: cliHarness(gemini, model_id) };
  }
}
