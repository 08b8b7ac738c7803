import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UserCaller } from '../src/identities/index.js';
import { GitCredentials, ResolveSkill } from '../src/catalog/index.js';
import { runGit } from '../src/catalog/persistence/git-command.js';
import { type Files, GitRepositories } from './support/git-repositories.js';
import { insertTeam, insertUser, type TestUser } from './support/identities.js';
import { isAlive } from './support/processes.js';
import { type Answer, eventually, startTestApp, type TestApp } from './support/test-app.js';

interface Variant {
  id: string;
  description: string;
  base_prompt: string;
  source: object;
  environments: { uid: string; name: string }[];
  last_run_timestamp: string | null;
  error?: string;
}

const skill = (name: string, description = `What ${name} does`, body = `Do ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

const skillsAt = (...paths: string[]): Files =>
  Object.fromEntries(paths.map((path) => [`${path}/SKILL.md`, skill(path.split('/').at(-1) ?? path)]));

let git: GitRepositories;
let server: TestApp;
const warnings = jest.spyOn(Logger.prototype, 'warn');

beforeAll(async () => {
  git = await GitRepositories.create();
  server = await startTestApp({ GIT_BASE_URL: git.baseUrl });
});
afterAll(async () => {
  await server.close();
  await git.remove();
});
beforeEach(async () => {
  await git.forget();
  warnings.mockClear();
});

const list = (query = '', user?: TestUser, on = server): Promise<Answer> =>
  on.call('GET', `/v1/agent?${query}`, undefined, user?.headers);

async function entries(query = '', user?: TestUser): Promise<{ name: string; variants: Variant[] }[]> {
  const answer = await list(query, user);
  expect(answer.status).toBe(200);
  return (answer.body as { agents: { name: string; variants: Variant[] }[] }).agents;
}

const names = async (query = '', user?: TestUser): Promise<string[]> =>
  (await entries(query, user)).map(({ name }) => name);

/** Somebody without a team, who reaches no environment yet. */
const newcomer = () => insertUser(server.dataSource, { teams: [] });

const insertEnvironment = async (
  owner: { teamUid?: string; ownerUid?: string },
  name: string,
  repositories: string[],
): Promise<string> => {
  const uid = randomUUID().replaceAll('-', '').slice(0, 22);
  const config = {
    name,
    github_repos: repositories.map((repository) => {
      const [ownerName, repo] = repository.split('/');
      return { owner: ownerName, repo };
    }),
  };
  await server.dataSource.query(
    `INSERT INTO environments (uid, team_uid, owner_uid, name, config, creator_uid, last_editor_uid)
     VALUES ($1, $2, $3, $4, $5, $6, $6)`,
    [uid, owner.teamUid ?? null, owner.ownerUid ?? null, name, JSON.stringify(config), randomUUID()],
  );
  return uid;
};

const insertRun = (ownerUid: string, skillSpec: string, createdAt: string): Promise<unknown> =>
  server.dataSource.query(
    `INSERT INTO runs (id, title, state, owner_uid, creator_uid, executor_uid, source, skill_spec, created_at)
     VALUES ($1, 'A run', 'SUCCEEDED', $2, $2, $2, 'API', $3, $4)`,
    [randomUUID(), ownerUid, skillSpec, createdAt],
  );

describe('GET /agent', () => {
  it('lists the skills of the environments that the caller can reach, and of no others', async () => {
    await git.commit('acme/listed', {
      '.agents/skills/deploy/SKILL.md': skill('deploy', 'Deploys it', 'Run `make deploy`.\n\nThen watch.'),
      'README.md': '# Nothing',
      'docs/NOT-SKILL.md': skill('not-skill'),
    });
    await git.commit('acme/secretive', skillsAt('hidden'));
    const user = await newcomer();
    const environment = await insertEnvironment({ ownerUid: user.uid }, 'Backend', ['acme/listed']);
    await insertEnvironment({ ownerUid: (await newcomer()).uid }, 'Not theirs', [
      'acme/secretive',
      'acme/listed',
    ]);
    expect(await list('', user)).toMatchObject({
      status: 200,
      body: {
        agents: [
          {
            name: 'deploy',
            variants: [
              {
                id: 'acme/listed:.agents/skills/deploy/SKILL.md',
                description: 'Deploys it',
                base_prompt: 'Run `make deploy`.\n\nThen watch.',
                source: {
                  owner: 'acme',
                  name: 'listed',
                  skill_path: '.agents/skills/deploy/SKILL.md',
                },
                environments: [{ uid: environment, name: 'Backend' }],
                last_run_timestamp: null,
              },
            ],
          },
        ],
      },
    });
  });

  it('makes skills of one name variants of one entry', async () => {
    await git.commit('acme/one', skillsAt('.agents/skills/review', '.claude/skills/review', 'other'));
    await git.commit('acme/two', skillsAt('skills/review'));
    const user = await newcomer();
    await insertEnvironment({ ownerUid: user.uid }, 'B', ['acme/one', 'acme/two']);
    await insertEnvironment({ ownerUid: user.uid }, 'A', ['acme/two', 'acme/two']);
    const found = await entries('', user);
    expect(found.map(({ name }) => name)).toEqual(['other', 'review']);
    expect(found[1]!.variants.map(({ id }) => id)).toEqual([
      'acme/one:.agents/skills/review/SKILL.md',
      'acme/one:.claude/skills/review/SKILL.md',
      'acme/two:skills/review/SKILL.md',
    ]);
    expect(found[1]!.variants.map(({ environments }) => environments.map(({ name }) => name))).toEqual([
      ['B'],
      ['B'],
      ['A', 'B'],
    ]);
  });

  it("reaches what is shared with the caller's team", async () => {
    await git.commit('acme/shared', skillsAt('guest-skill'));
    const team = await insertTeam(server.dataSource);
    const user = await insertUser(server.dataSource, { teams: [team] });
    const environment = await insertEnvironment({ ownerUid: randomUUID() }, 'Shared', ['acme/shared']);
    expect(await names('', user)).toEqual([]);
    await server.dataSource.query(
      `INSERT INTO environment_shares (uid, environment_uid, kind, grantee_uid) VALUES ($1, $2, 'team', $3)`,
      [randomUUID(), environment, team],
    );
    expect(await names('', user)).toEqual(['guest-skill']);
  });

  it('reads one repository by name, in an environment or not', async () => {
    await git.commit('acme/alone', skillsAt('a', 'b'));
    const user = await newcomer();
    const [a] = await entries('repo=acme/alone', user);
    expect(a).toMatchObject({ name: 'a', variants: [{ environments: [] }] });
  });

  it('sorts by name or by the last run that the caller may see', async () => {
    await git.commit('acme/sorted', skillsAt('a', 'b', 'c', 'd'));
    const user = await newcomer();
    await insertRun(user.uid, 'acme/sorted:c/SKILL.md', '2026-01-01T00:00:00Z');
    await insertRun(user.uid, 'acme/sorted:b/SKILL.md', '2026-01-03T00:00:00Z');
    await insertRun(user.uid, 'acme/sorted:b/SKILL.md', '2026-01-02T00:00:00Z');
    await insertRun(randomUUID(), 'acme/sorted:d/SKILL.md', '2026-01-04T00:00:00Z');
    expect(await names('repo=acme/sorted', user)).toEqual(['a', 'b', 'c', 'd']);
    const byRun = await entries('repo=acme/sorted&sort_by=last_run', user);
    expect(byRun.map(({ name, variants }) => [name, variants[0]!.last_run_timestamp])).toEqual([
      ['b', '2026-01-03T00:00:00.000Z'],
      ['c', '2026-01-01T00:00:00.000Z'],
      ['a', null],
      ['d', null],
    ]);
  });

  it('leaves malformed skills out, or lists each with its reason', async () => {
    await git.commit('acme/malformed', {
      ...skillsAt('fine'),
      'yaml/SKILL.md': '---\nname: yaml\ndescription: x\nlicense: [a\n---\n',
      'bare/SKILL.md': '# No front matter',
      'big/SKILL.md': skill('big', 'x', 'y'.repeat(256 * 1024)),
      'latin/SKILL.md': Buffer.from('---\nname: latin\ndescription: caf\xe9\n---\n', 'latin1'),
      'elsewhere/SKILL.md': skill('moved'),
    });
    expect(await names('repo=acme/malformed')).toEqual(['fine']);
    const all = await entries('repo=acme/malformed&include_malformed_skills=true');
    expect(all.map(({ name, variants }) => [name, variants[0]!.error])).toEqual([
      ['bare', expect.stringContaining('front matter is missing')],
      ['big', expect.stringContaining('larger than 256 KiB')],
      ['fine', undefined],
      ['latin', 'The file is not UTF-8 text'],
      ['moved', '`name` must be that of the directory, `elsewhere`'],
      ['yaml', expect.stringMatching(/not valid YAML: .*\(line [45]\)/)],
    ]);
  });

  it('follows neither links nor submodules', async () => {
    await git.commit('acme/module', skillsAt('inner'));
    await git.commit('acme/linking', {
      ...skillsAt('real'),
      'link/SKILL.md': { linkTo: '../real/SKILL.md' },
      'outside/SKILL.md': { linkTo: '/etc/passwd' },
      directory: { linkTo: 'real' },
    });
    await git.addSubmodule('acme/linking', 'SKILL.md', 'acme/module');
    expect(await names('repo=acme/linking&include_malformed_skills=true')).toEqual(['real']);
  });

  it('answers from the cache until it is told to refresh', async () => {
    await git.commit('acme/changing', skillsAt('first'));
    expect(await names('repo=acme/changing')).toEqual(['first']);
    await git.commit('acme/changing', { ...skillsAt('second'), 'first/SKILL.md': null });
    expect(await names('repo=acme/changing')).toEqual(['first']);
    expect(await names('repo=acme/changing&refresh=false')).toEqual(['first']);
    expect(await git.countFetches()).toBe(1);
    expect(await names('repo=acme/changing&refresh=true')).toEqual(['second']);
    expect(await names('repo=acme/changing')).toEqual(['second']);
    expect(await git.countFetches()).toBe(2);
  });

  it('reads a repository whose server does not filter', async () => {
    await git.commit('acme/unfiltered', skillsAt('plain', 'second'), { filter: false });
    expect(await names('repo=acme/unfiltered')).toEqual(['plain', 'second']);
  });

  it('fetches no contents but those of skills, and those in one go', async () => {
    await git.commit('acme/lean', { ...skillsAt('a', 'b', 'c'), 'large.bin': 'x'.repeat(1000) });
    await names('repo=acme/lean');
    const calls = (await git.calls()).split('\n').filter((line) => line.startsWith('ARGS'));
    expect(calls.map((line) => /\.git-cache|git-dir=\S+ (?:-c \S+ )?(\S+)/.exec(line)?.[1])).toEqual([
      'init',
      'fetch',
      'ls-tree',
      'fetch',
      'cat-file',
    ]);
  });

  it('fetches once for listings at the same time', async () => {
    await git.commit('acme/busy', skillsAt('busy'));
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => names('repo=acme/busy')));
    expect(answers).toEqual(answers.map(() => ['busy']));
    expect(await git.countFetches()).toBe(1);
  });

  it('leaves out a repository that cannot be read, names it in the log, and finds it later', async () => {
    await git.commit('acme/there', skillsAt('there'));
    const user = await newcomer();
    await insertEnvironment({ ownerUid: user.uid }, 'Both', ['acme/there', 'acme/gone']);
    expect(await names('', user)).toEqual(['there']);
    expect(warnings).toHaveBeenCalledWith(
      { repository: 'acme/gone', reason: expect.stringContaining('fatal') },
      'a repository cannot be read',
    );
    await git.commit('acme/gone', skillsAt('back'));
    expect(await names('refresh=true', user)).toEqual(['back', 'there']);
  });

  it.each([
    'repo=',
    'repo=acme',
    'repo=acme/a/b',
    `repo=${encodeURIComponent('--upload-pack=touch${IFS}x/a')}`,
    'repo=-acme/a',
    'repo=acme/-a',
    'repo=../a',
    'repo=../..',
    'repo=acme/..',
    'repo=acme/.git',
    'repo=acme/a%00',
    'repo=acme/a%0A',
    'repo=acme/a?b',
    'repo=acme/a:b',
    'repo=acme/a&repo=acme/b',
    'refresh=yes',
    'sort_by=size',
    'include_malformed_skills=1',
  ])('refuses %s with a 400 that names it', async (query) => {
    const answer = await list(query);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: query.split('=')[0] }] } });
    expect(await git.calls()).toBe('');
  });

  it('passes over hostile names in an environment', async () => {
    const user = await newcomer();
    await insertEnvironment({ ownerUid: user.uid }, 'Hostile', [
      '--upload-pack=x/a',
      '../..',
      '../etc',
      'a/-b',
    ]);
    expect(await names('', user)).toEqual([]);
    expect(await git.calls()).toBe('');
  });

  it('hands git a token in nothing but its environment, and shows what it opened to nobody else', async () => {
    await git.commit('acme/private', skillsAt('private'));
    const tokenFor = jest.spyOn(server.app.get(GitCredentials, { strict: false }), 'tokenFor');
    tokenFor.mockResolvedValueOnce('ghs_verysecret');
    expect(await names('repo=acme/private')).toEqual(['private']);
    const encoded = Buffer.from('x-access-token:ghs_verysecret').toString('base64');
    const calls = (await git.calls()).split('\n');
    const withToken = calls.filter((line) => line.includes(encoded) || line.includes('ghs_verysecret'));
    expect(withToken.length).toBeGreaterThan(0);
    for (const line of withToken) {
      expect(line).toMatch(/^GIT_CONFIG_VALUE_\d+=Authorization: Basic /);
    }
    expect(await names('repo=acme/private')).toEqual(['private']);
    expect(await git.countFetches()).toBe(2);
  });

  it('gives git nothing of the environment of the service', async () => {
    process.env.GIT_DIR = '/nowhere';
    process.env.A_SECRET_OF_THE_SERVICE = 'x';
    try {
      await git.commit('acme/clean', skillsAt('clean'));
      expect(await names('repo=acme/clean')).toEqual(['clean']);
    } finally {
      delete process.env.GIT_DIR;
      delete process.env.A_SECRET_OF_THE_SERVICE;
    }
    const calls = await git.calls();
    expect(calls).toContain('GIT_TERMINAL_PROMPT=0');
    expect(calls).not.toContain('A_SECRET_OF_THE_SERVICE');
  });

  it('shares its cache on the disk with another process', async () => {
    const other = await startTestApp({ GIT_BASE_URL: git.baseUrl, DATA_DIR: server.dataDir }, server);
    try {
      await git.commit('acme/both', skillsAt('v0'));
      for (let round = 1; round <= 4; round++) {
        await git.commit('acme/both', {
          ...skillsAt(`v${round}`),
          [`v${round - 1}/SKILL.md`]: null,
        });
        const query = 'repo=acme/both&refresh=true';
        const answers = await Promise.all([list(query), list(query, undefined, other)]);
        for (const { body } of answers) expect(body).toMatchObject({ agents: [{ name: `v${round}` }] });
      }
      expect(await git.countFetches()).toBe(8);
      expect(
        (await readdir(join(server.dataDir, 'git-cache'))).filter((name) => name.includes('lock')),
      ).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('takes over from a process that died in the middle', async () => {
    await git.commit('acme/died', skillsAt('died'));
    await names('repo=acme/died');
    const root = join(server.dataDir, 'git-cache');
    const before = new Set(await readdir(root));
    for (const name of before) {
      await mkdir(join(root, `${name}.lock`));
      await mkdir(join(root, name, 'shallow.lock'));
      const longAgo = new Date(Date.now() - 3 * 60_000);
      await utimes(join(root, `${name}.lock`), longAgo, longAgo);
    }
    expect(await names('repo=acme/died&refresh=true')).toEqual(['died']);
    await Promise.all(
      [...before].map((name) => rm(join(root, `${name}.lock`), { recursive: true, force: true })),
    );
  });
});

describe('a skill of a run', () => {
  let user: TestUser;
  let environment: string;
  let resolve: (spec: string, environmentUid?: string) => ReturnType<ResolveSkill['execute']>;
  const FOUND = {
    outcome: 'found',
    spec: 'acme/tools:.agents/skills/deploy/SKILL.md',
    name: 'deploy',
    description: 'What deploy does',
    body: 'Do deploy.',
    fullPath: '.agents/skills/deploy/SKILL.md',
  };

  beforeAll(async () => {
    await git.commit('acme/tools', {
      ...skillsAt('.agents/skills/deploy', 'a/lint', 'b/lint', 'test-all'),
      'broken/SKILL.md': '---\nname: broken\n---\n',
    });
    await git.commit('other/tools', skillsAt('release'));
    await git.commit('other/more', skillsAt('x/deploy', 'y/format'));
    user = await newcomer();
    environment = await insertEnvironment({ ownerUid: user.uid }, 'Tools', ['acme/tools']);
    await insertEnvironment({ ownerUid: user.uid }, 'More', ['other/tools', 'other/more']);
    const caller: UserCaller = {
      kind: 'user',
      keyUid: randomUUID(),
      uid: user.uid,
      displayName: 'A user',
      teamCount: 0,
      operator: false,
    };
    resolve = (spec, environmentUid) =>
      server.app.get(ResolveSkill, { strict: false }).execute(caller, spec, environmentUid);
  });

  it.each([
    'acme/tools:.agents/skills/deploy/SKILL.md',
    'acme/tools:deploy',
    'tools:deploy',
    'tools:.agents/skills/deploy/SKILL.md',
  ])('is found as %s', async (spec) => {
    expect(await resolve(spec)).toEqual(FOUND);
  });

  it('is found by its name alone, where only one repository has it', async () => {
    expect(await resolve('release')).toMatchObject({
      outcome: 'found',
      spec: 'other/tools:release/SKILL.md',
    });
  });

  it('is looked for by name in the environment of the run', async () => {
    expect(await resolve('deploy', environment)).toEqual(FOUND);
    expect(await resolve('tools:release', environment)).toEqual({ outcome: 'not_found', candidates: [] });
    expect(await resolve('deploy', 'A'.repeat(22))).toEqual({ outcome: 'not_found', candidates: [] });
    expect(await resolve('other/tools:release', environment)).toMatchObject({ outcome: 'found' });
  });

  it('is ambiguous when several have the name', async () => {
    expect(await resolve('deploy')).toEqual({
      outcome: 'ambiguous',
      candidates: ['acme/tools:.agents/skills/deploy/SKILL.md', 'other/more:x/deploy/SKILL.md'],
    });
    expect(await resolve('acme/tools:lint')).toEqual({
      outcome: 'ambiguous',
      candidates: ['acme/tools:a/lint/SKILL.md', 'acme/tools:b/lint/SKILL.md'],
    });
  });

  it('that is not there is answered with similar ones', async () => {
    expect(await resolve('tools:depoly')).toEqual({
      outcome: 'not_found',
      candidates: ['acme/tools:.agents/skills/deploy/SKILL.md'],
    });
    expect(await resolve('acme/tools:skills/deploi/SKILL.md')).toEqual({
      outcome: 'not_found',
      candidates: ['acme/tools:.agents/skills/deploy/SKILL.md'],
    });
    expect(await resolve('test')).toMatchObject({ candidates: ['acme/tools:test-all/SKILL.md'] });
    expect(await resolve('nothing-of-the-kind')).toEqual({ outcome: 'not_found', candidates: [] });
  });

  it.each([
    '',
    ':',
    'acme/tools:',
    ':deploy',
    '../..:deploy',
    '--upload-pack=x/a:b',
    'a/b/c:d',
    'x'.repeat(5000),
  ])('is not found as %j', async (spec) => {
    expect(await resolve(spec)).toEqual({ outcome: 'not_found', candidates: [] });
  });

  it('is malformed or unreachable in words', async () => {
    expect(await resolve('tools:broken')).toEqual({
      outcome: 'malformed',
      error: '`description` is missing',
    });
    expect(await resolve('acme/nowhere:deploy')).toEqual({ outcome: 'unreachable', repo: 'acme/nowhere' });
  });
});

describe('git', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'millwright-git-command-'));
    path = process.env.PATH ?? '';
    process.env.PATH = `${directory}:${path}`;
  });
  afterEach(async () => {
    process.env.PATH = path;
    await rm(directory, { recursive: true, force: true });
  });

  const standIn = async (script: string): Promise<void> => {
    await writeFile(join(directory, 'git'), `#!/bin/sh\n${script}\n`);
    await chmod(join(directory, 'git'), 0o755);
  };

  const run = (signal: AbortSignal, output: string[] = []) =>
    runGit({
      args: ['status'],
      settings: [],
      protocols: ['https'],
      signal,
      onOutput: (chunk) => output.push(chunk.toString()),
    });

  it('hands over what it prints', async () => {
    await standIn('echo "$1 $GIT_ALLOW_PROTOCOL"');
    const output: string[] = [];
    await run(AbortSignal.timeout(10_000), output);
    expect(output.join('')).toBe('status https\n');
  });

  it('that fails says why, without the credentials of its base', async () => {
    await standIn(`echo warning >&2; echo "fatal: no https://me:secret@host/x" >&2; exit 128`);
    await expect(run(AbortSignal.timeout(10_000))).rejects.toThrow(/^fatal: no https:\/\/host\/x$/);
  });

  it('is ended with its children when the time is over, whatever they ignore', async () => {
    await standIn(`trap '' TERM\nsleep 60 & echo $! > '${directory}/pid'\nwait`);
    const begin = performance.now();
    await expect(run(AbortSignal.timeout(500))).rejects.toThrow(/timeout/);
    expect(performance.now() - begin).toBeLessThan(10_000);
    const pid = Number(await readFile(join(directory, 'pid'), 'utf8'));
    await eventually(() => Promise.resolve(isAlive(pid) ? undefined : true));
  });

  it('is not started once the time is over', async () => {
    await standIn(`touch '${directory}/started'`);
    await expect(run(AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
    await expect(readFile(join(directory, 'started'))).rejects.toThrow('ENOENT');
  });

  it('that is not installed is an error, not the end of the service', async () => {
    process.env.PATH = directory;
    await expect(run(AbortSignal.timeout(10_000))).rejects.toThrow('spawn git ENOENT');
  });
});
