import { describe, expect, it } from '@jest/globals';
import { scriptHarness } from './script-harness.js';
import { selectHarness } from './select-harness.js';

describe('selectHarness', () => {
  it('has the script harness for the script model', () => {
    expect(selectHarness({ type: 'oz', model_id: 'script' })).toEqual({
      kind: 'selected',
      harness: scriptHarness,
    });
  });

  it.each([
    ['claude', 'claude_code_cli'],
    ['codex', 'codex_cli'],
    ['gemini', 'gemini_cli'],
  ] as const)('has a harness for %s', (type, transcriptFormat) => {
    expect(selectHarness({ type, model_id: '' })).toMatchObject({
      kind: 'selected',
      harness: { transcriptFormat },
    });
  });

  it('says what it has nothing for', () => {
    expect(selectHarness({ type: 'oz', model_id: 'auto' })).toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('no model "auto"'),
    });
  });
});
