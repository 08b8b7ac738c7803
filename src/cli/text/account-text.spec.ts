import { describe, expect, it } from '@jest/globals';
import { apiKeysText, createdApiKeyText, meText, secretsText } from './account-text.js';
import { modelsText, skillsText } from './catalog-text.js';

const API_KEY = {
  uid: 'k1',
  name: 'Deploy pipeline',
  prefix: 'wk-Zm9v',
  last_four: 'c3Vw',
  owner: { type: 'user', uid: 'u1', display_name: 'Ada', email: 'ada@example.com' },
  created_at: '2026-11-21T09:30:00.000Z',
};

it('marks the team that the caller acts for', () => {
  const text = meText({
    principal: { type: 'user', uid: 'u1', display_name: 'Ada' },
    teams: [
      { uid: 't1', name: 'One', role: 'member', permissions: [] },
      { uid: 't2', name: 'Two', role: 'admin', permissions: ['manage_factory'] },
    ],
    active_team_uid: 't2',
  });
  expect(text.split('\n')).toEqual([
    'user  Ada',
    'uid   u1',
    '',
    '   TEAM  NAME  ROLE    PERMISSIONS',
    '   t1    One   member',
    '*  t2    Two   admin   manage_factory',
  ]);
});

describe('an API key', () => {
  it('is shown whole when it was just made', () => {
    expect(createdApiKeyText({ ...API_KEY, key: 'wk-Zm9vYmFyc3Vw' }).split('\n')).toEqual([
      'uid      k1',
      'name     Deploy pipeline',
      'owner    Ada <ada@example.com>',
      'expires  never',
      'key      wk-Zm9vYmFyc3Vw',
      'Keep the key: it is not shown again.',
    ]);
  });

  it('is shown by its ends in a list', () => {
    expect(apiKeysText({ api_keys: [API_KEY] }).split('\n')[1]).toBe(
      'k1   wk-Zm9v…c3Vw  Ada <ada@example.com>  never    never      Deploy pipeline',
    );
  });
});

it('tells whose a secret is', () => {
  const times = { created_at: 't1', updated_at: 't2' };
  expect(
    secretsText({
      secrets: [
        { name: 'A', scope: { type: 'Team', uid: 't' }, ...times },
        { name: 'B', scope: { type: 'User', uid: 'u' }, ...times },
      ],
    }).split('\n'),
  ).toEqual(['NAME  OWNER  UPDATED', 'A     team   t2', 'B     you    t2']);
});

it('tells which model is the default, and which cannot be used', () => {
  const model = { display_name: 'M', provider: 'UNKNOWN' };
  expect(
    modelsText({
      default_model_id: 'a',
      models: [
        { id: 'a', ...model },
        { id: 'b', ...model, disable_reason: 'ADMIN_DISABLED' },
        { id: 'c', ...model },
      ],
    }).split('\n'),
  ).toEqual([
    'MODEL  NAME  PROVIDER  STATUS',
    'a      M     UNKNOWN   default',
    'b      M     UNKNOWN   ADMIN_DISABLED',
    'c      M     UNKNOWN   available',
  ]);
});

it('lists each variant of a skill', () => {
  const variants = ['x/y:a/SKILL.md', 'x/z:a/SKILL.md'].map((id) => ({ id, description: 'Does it.' }));
  expect(skillsText({ agents: [{ name: 'deploy', variants }] }).split('\n')).toEqual([
    'SKILL   ID              DESCRIPTION',
    'deploy  x/y:a/SKILL.md  Does it.',
    'deploy  x/z:a/SKILL.md  Does it.',
  ]);
});
