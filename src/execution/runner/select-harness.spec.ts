import { describe, expect, it } from '@jest/globals';
import { scriptHarness } from './script-harness.js';
import { selectHarness } from './select-harness.js';

describe('selectHarness', () => {
  it('has the script harness for the script model', () => {
    expect(selectHarness({ harness: { type: 'oz', model_id: 'script' }, mcp_servers: {} })).toEqual({
      kind: 'selected',
      harness: scriptHarness,
    });
  });

  it.each([
    ['claude', 'claude_code_cli'],
    ['codex', 'codex_cli'],
    ['gemini', 'gemini_cli'],
  ] as const)('has a harness for %s', (type, transcriptFormat) => {
    expect(selectHarness({ harness: { type, model_id: '' }, mcp_servers: {} })).toMatchObject({
      kind: 'selected',
      harness: { transcriptFormat },
    });
  });

  it('says what it has nothing for', () => {
    expect(selectHarness({ harness: { type: 'oz', model_id: 'auto' }, mcp_servers: {} })).toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('no model "auto"'),
    });
    const harness = { type: 'claude', model_id: '' } as const;
    expect(selectHarness({ harness, mcp_servers: { docs: {}, shop: { command: 'shop' } } })).toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('the MCP servers docs but an id'),
    });
  });
});
