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
    [{ type: 'oz', model_id: 'auto' }, 'the model "auto"'],
    [{ type: 'claude', model_id: 'script' }, 'the harness "claude"'],
  ] as const)('says what it has nothing for: %j', (harness, what) => {
    expect(selectHarness(harness)).toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining(what),
    });
  });
});
