import { describe, expect, it } from '@jest/globals';
import { resolveAgentConfig, workerHostOf } from './agent-config.js';

describe('resolveAgentConfig', () => {
  it('takes each field from the first that sets it', () => {
    expect(
      resolveAgentConfig([{ name: 'request' }, undefined, { name: 'agent', base_prompt: 'agent' }]),
    ).toEqual({ name: 'request', base_prompt: 'agent' });
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

describe('the skills of a configuration', () => {
  it('are decided by the first that names any, in whichever field', () => {
    expect(resolveAgentConfig([{ skill_spec: 'a/b:c/SKILL.md' }, { skills: ['d'] }])).toEqual({
      skill_spec: 'a/b:c/SKILL.md',
    });
    expect(resolveAgentConfig([{ skills: ['d'] }, { skill_spec: 'a/b:c/SKILL.md' }])).toEqual({
      skills: ['d'],
    });
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
