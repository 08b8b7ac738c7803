import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const IDENTITY = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

/** Contents by path: text, bytes, or a link to another path. Null removes the file. */
export type Files = Record<string, string | Buffer | { linkTo: string } | null>;

/** A git host of directories: bare repositories as `{owner}/{repo}` below a `file://` base. */
export class GitRepositories {
  private constructor(
    private readonly root: string,
    private readonly path: string,
  ) {}

  /** Also puts a recorder before git in this process's PATH, so that a test can see how git was called. */
  static async create(): Promise<GitRepositories> {
    const root = await mkdtemp(join(tmpdir(), 'millwright-git-'));
    const { stdout } = await run('sh', ['-c', 'command -v git']);
    const recorder = join(root, 'bin', 'git');
    await mkdir(dirname(recorder));
    await writeFile(
      recorder,
      `#!/bin/sh\n{ printf 'ARGS'; printf ' %s' "$@"; printf '\\n'; env; } >> '${root}/calls'\nexec '${stdout.trim()}' "$@"\n`,
    );
    await chmod(recorder, 0o755);
    const path = process.env.PATH ?? '';
    process.env.PATH = `${join(root, 'bin')}:${path}`;
    return new GitRepositories(root, path);
  }

  get baseUrl(): string {
    return pathToFileURL(join(this.root, 'host')).href;
  }

  /** Commits the files to the default branch, making the repository if need be. */
  async commit(name: string, files: Files, options: { filter?: boolean } = {}): Promise<void> {
    const bare = join(this.root, 'host', name);
    const work = join(this.root, 'work', name);
    if (
      await this.git(['-C', bare, 'rev-parse']).then(
        () => false,
        () => true,
      )
    ) {
      await this.git(['init', '-q', '--bare', '-b', 'trunk', bare]);
      await this.git(['-C', bare, 'config', 'uploadpack.allowFilter', String(options.filter ?? true)]);
      await this.git(['clone', '-q', bare, work]);
    }
    for (const [path, content] of Object.entries(files)) {
      const file = join(work, path);
      await mkdir(dirname(file), { recursive: true });
      await rm(file, { force: true });
      if (content === null) continue;
      if (typeof content === 'string' || Buffer.isBuffer(content)) await writeFile(file, content);
      else await symlink(content.linkTo, file);
    }
    await this.git(['-C', work, 'add', '-A']);
    await this.git(['-C', work, 'commit', '-q', '-m', 'A change', '--allow-empty']);
    await this.git(['-C', work, 'push', '-q', 'origin', 'HEAD:trunk']);
  }

  /** Adds the repository `module` to the other as a submodule. */
  async addSubmodule(name: string, path: string, module: string): Promise<void> {
    const work = join(this.root, 'work', name);
    await this.git([
      '-C',
      work,
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '-q',
      'add',
      join(this.root, 'host', module),
      path,
    ]);
    await this.commit(name, {});
  }

  /** How often git has fetched from a remote since the last `forget`; the contents of files apart. */
  async countFetches(): Promise<number> {
    return (await this.calls()).split('\n').filter((line) => /^ARGS .* --depth=1 /.test(line)).length;
  }

  /** The arguments and environments that git was called with by the service. */
  async calls(): Promise<string> {
    return readFile(join(this.root, 'calls'), 'utf8').catch(() => '');
  }

  async forget(): Promise<void> {
    await rm(join(this.root, 'calls'), { force: true });
  }

  async remove(): Promise<void> {
    process.env.PATH = this.path;
    await rm(this.root, { recursive: true, force: true });
  }

  /** With the real git, unrecorded. */
  private async git(args: string[]): Promise<void> {
    await run('git', args, { env: { ...IDENTITY, PATH: this.path, HOME: this.root } });
  }
}
