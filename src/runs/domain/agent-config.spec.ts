import { describe, expect, it } from '@jest/globals';
import { resolveAgentConfig, workerHostOf } from './agent-config.js';

describe('resolveAgentConfig', () => {
  it('takes each field from the first that sets it', () => {
    expect(
      resolveAgentConfig([{ name: 'request' }, undefined, { name: 'agent', base_prompt: 'agent' }]),
    ).toEqual({ name: 'request', base_prompt: 'agent', model_id: 'script', harness: { type: 'oz' } });
  });

  it('lets a value that is false, empty or null decide, and an absent one not', () => {
    expect(
      resolveAgentConfig([
        { computer_use_enabled: false, base_prompt: '', credential_strategy: null, name: undefined },
        { computer_use_enabled: true, base_prompt: 'x', credential_strategy: 'CREATOR', name: 'n' },
      ]),
    ).toMatchObject({ computer_use_enabled: false, base_prompt: '', credential_strategy: null, name: 'n' });
  });
});

describe('workerHostOf', () => {
  it.each([
    [undefined, null],
    ['', null],
    ['warp', null],
    ['build-box', 'build-box'],
    ['Warp', 'Warp'],
  ])('%j means %j', (worker_host, expected) => {
    expect(workerHostOf({ worker_host })).toBe(expected);
  });
});
