import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { agentEnvironment } from './runner-environment.js';

export interface PullRequest {
  url: string;
  branch: string;
}

/** Of a turn: an agent that names more lists them, it has not made them. */
const MAX_PULL_REQUESTS = 20;
const GIT_LIMIT_MS = 10_000;
/** As GitHub has them: `https://<host>/<owner>/<repo>/pull/<number>`. */
const ADDRESS = /https?:\/\/[\w.:-]+\/([\w.-]+\/[\w.-]+)\/pull\/\d+/g;

/**
 * The pull requests that an agent names in its last word, if they are of a repository that lies in the workspace: the branch is the one
 * that is checked out there. Those of other repositories it may have only read.
 */
export async function pullRequestsIn(text: string, workspace = process.cwd()): Promise<PullRequest[]> {
  const named = new Map([...text.matchAll(ADDRESS)].map(([url, repository = '']) => [url, repository]));
  if (named.size === 0) return [];
  const branches = await branchesOf(workspace);
  return [...named]
    .flatMap(([url, repository]) => {
      const branch = branches.get(repository.toLowerCase());
      return branch === undefined ? [] : [{ url, branch }];
    })
    .slice(0, MAX_PULL_REQUESTS);
}

/** What is checked out in the repositories right below the workspace, and in itself, by `owner/repo`. */
async function branchesOf(workspace: string): Promise<Map<string, string>> {
  const branches = new Map<string, string>();
  const entries = await readdir(workspace, { withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(workspace, name));
  for (const directory of [workspace, ...below]) {
    const isRepository = await readdir(join(directory, '.git')).then(
      () => true,
      () => false,
    );
    if (!isRepository) continue;
    const remote = await git(directory, ['remote', 'get-url', 'origin']);
    const repository = /([\w.-]+\/[\w.-]+?)(?:\.git)?\/?$/.exec(remote.replace(/^[^/]*:/, '/'))?.[1];
    const branch = await git(directory, ['branch', '--show-current']);
    if (repository !== undefined && branch !== '') branches.set(repository.toLowerCase(), branch);
  }
  return branches;
}

/** Empty where git has no answer. */
async function git(directory: string, args: string[]): Promise<string> {
  const options = { env: agentEnvironment({}), timeout: GIT_LIMIT_MS };
  return promisify(execFile)('git', ['-C', directory, ...args], options).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}
