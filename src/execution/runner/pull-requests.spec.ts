import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pullRequestsIn } from './pull-requests.js';

let workspace: string;

beforeAll(async () => {
  workspace = await mkdtemp(join(tmpdir(), 'millwright-pulls-'));
  const clones = [
    ['shop', 'https://github.example/Acme/shop.git', 'fix-checkout'],
    ['tools', 'git@github.example:acme/tools', 'faster'],
  ] as const;
  for (const [name, remote, branch] of clones) {
    const directory = join(workspace, name);
    execFileSync('git', ['init', '--quiet', '--initial-branch', branch, directory]);
    execFileSync('git', ['-C', directory, 'remote', 'add', 'origin', remote]);
  }
  await mkdir(join(workspace, 'plain'));
});
afterAll(() => rm(workspace, { recursive: true }));

describe('pullRequestsIn', () => {
  it.each([
    [
      'Opened https://github.example/acme/shop/pull/7.',
      ['https://github.example/acme/shop/pull/7', 'fix-checkout'],
    ],
    [
      'See [it](https://github.example/acme/tools/pull/12)',
      ['https://github.example/acme/tools/pull/12', 'faster'],
    ],
  ])('finds that of a clone: %s', async (text, [url, branch]) => {
    expect(await pullRequestsIn(`${text}\n${text}`, workspace)).toEqual([{ url, branch }]);
  });

  it.each([
    ['no address', 'All done'],
    ['another repository', 'Like https://github.example/acme/other/pull/7'],
    ['an issue', 'Fixes https://github.example/acme/shop/issues/7'],
  ])('finds none in %s', async (_, text) => {
    expect(await pullRequestsIn(text, workspace)).toEqual([]);
  });

  it('takes a list for what it is', async () => {
    const text = Array.from({ length: 100 }, (_, at) => `https://github.example/acme/shop/pull/${at}`).join(
      ' ',
    );
    expect(await pullRequestsIn(text, workspace)).toHaveLength(20);
  });
});
