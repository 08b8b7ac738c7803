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
export function selectHarness({
  harness: { type, model_id, reasoning_level: reasoningLevel },
  mcp_servers: mcpServers,
}: Pick<ExecutionView, 'harness' | 'mcp_servers'>): HarnessSelection {
  const unknown = Object.keys(mcpServers).filter(
    (name) => mcpServers[name]?.command === undefined && mcpServers[name]?.url === undefined,
  );
  if (unknown.length > 0) {
    return {
      kind: 'unsupported',
      message: `Nothing is known here of the MCP servers ${unknown.join(', ')} but an id. Give their command or their URL.`,
    };
  }
  const settings = { model: model_id, reasoningLevel, mcpServers };
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
      return { kind: 'selected', harness: cliHarness(claude, settings) };
    case 'codex':
      return { kind: 'selected', harness: cliHarness(codex, settings) };
    case 'gemini':
      return { kind: 'selected', harness: cliHarness(gemini, settings) };
  }
}
