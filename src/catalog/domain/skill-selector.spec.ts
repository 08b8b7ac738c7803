import { describe, expect, it } from '@jest/globals';
import { distinctRepositories, parseRepository } from './skill-repository.js';
import { closest, parseSkillSelector } from './skill-selector.js';

describe('the form of a skill', () => {
  const repository = { owner: 'acme', repo: 'tools' };

  it.each([
    ['acme/tools:a/b/SKILL.md', { in: { repository }, by: { path: 'a/b/SKILL.md' } }],
    ['acme/tools:SKILL.md', { in: { repository }, by: { path: 'SKILL.md' } }],
    ['acme/tools:deploy', { in: { repository }, by: { name: 'deploy' } }],
    ['tools:a/SKILL.md', { in: { repositoryNamed: 'tools' }, by: { path: 'a/SKILL.md' } }],
    ['tools:deploy', { in: { repositoryNamed: 'tools' }, by: { name: 'deploy' } }],
    ['deploy', { in: 'anywhere', by: { name: 'deploy' } }],
    ['acme/tools:a:b/SKILL.md', { in: { repository }, by: { path: 'a:b/SKILL.md' } }],
  ])('%s is understood', (spec, selector) => {
    expect(parseSkillSelector(spec)).toEqual(selector);
  });

  it.each(['', ':', ':a', 'a:', 'a/b/SKILL.md', '../..:a', '-a/b:c', 'a/b/c:d', 'a'.repeat(4097)])(
    '%s is none',
    (spec) => {
      expect(parseSkillSelector(spec)).toBeUndefined();
    },
  );
});

describe('the name of a repository', () => {
  it.each(['acme/tools', 'A-c_m.e/t.o-o_ls', '1/2'])('can be %s', (name) => {
    expect(parseRepository(name)).toEqual({ owner: name.split('/')[0], repo: name.split('/')[1] });
  });

  it.each([
    'acme',
    'acme/',
    '/tools',
    'acme/tools/x',
    '../tools',
    'acme/..',
    '-a/b',
    'a/-b',
    'a/b\n',
    'a/b c',
    'ä/b',
  ])('cannot be %j', (name) => {
    expect(parseRepository(name)).toBeUndefined();
  });

  it('counts once', () => {
    const one = { owner: 'a', repo: 'b' };
    expect(distinctRepositories([one, { owner: 'a', repo: 'c' }, one, { owner: '..', repo: 'x' }])).toEqual([
      one,
      { owner: 'a', repo: 'c' },
    ]);
  });
});

describe('the closest names', () => {
  const names = ['deploy', 'deploy-all', 'destroy', 'lint', 'release'];
  const near = (wanted: string, limit = 20) => closest(names, (name) => name, wanted, limit);

  it('come first and are few', () => {
    expect(near('deplpy')).toEqual(['deploy']);
    expect(near('deploy')).toEqual(['deploy', 'deploy-all']);
    expect(near('deploy', 1)).toEqual(['deploy']);
    expect(near('LINT')).toEqual(['lint']);
    expect(near('xyz')).toEqual([]);
  });
});
