import { Injectable, Logger } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, rmdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { AppConfig } from '../../config/app-config.js';
import { MINUTE } from '../../kernel/clock.js';
import type { SkillRepository } from '../domain/skill-repository.js';
import { GitBatchReader } from './git-batch-reader.js';
import { type GitCommand, GitError, runGit } from './git-command.js';
import { GitTreeReader } from './git-tree-reader.js';

export interface GitFile {
  path: string;
  /** Undefined when it is beyond a limit. */
  content: Buffer | undefined;
}

export interface GitFileLimits {
  /** Further files are left out. */
  files: number;
  bytesPerFile: number;
  /** Of all files together. */
  bytes: number;
}

/** Where the default branch of the remote is kept. */
const HEAD = 'refs/skills/head';
/** Every fetch that brings something adds a pack; from here on the cache of a repository is made anew. */
const MAX_PACKS = 40;
/** Pack, index, reverse index and the mark of a partial clone. */
const FILES_PER_PACK = 4;
/** Repositories on the disk; beyond it those that were read longest ago are removed. */
const MAX_REPOSITORIES = 200;
/** No reader holds a lock for longer than its deadline, so this one's process is gone. */
const LOCK_ABANDONED_AFTER_MS = 2 * MINUTE;
const LOCK_POLL_MS = 50;

/**
 * Shallow copies of repositories without their file contents, as bare repositories in `DATA_DIR/git-cache`. Each has a lock, a
 * directory beside it, which keeps processes that share the data directory apart. What went wrong half way is thrown away.
 */
@Injectable()
export class GitCache {
  private readonly logger = new Logger(GitCache.name);
  private readonly root: string;

  constructor(private readonly config: AppConfig) {
    this.root = join(config.dataDir, 'git-cache');
  }

  /** Tells repositories apart, and what was read with one token from what was read with another or none. */
  keyOf(repository: SkillRepository, token: string | undefined): string {
    return createHash('sha256')
      .update(JSON.stringify([this.urlOf(repository), token ?? null]))
      .digest('hex');
  }

  /**
   * Fetches the default branch and reads its regular files of a name; links and submodules are not followed.
   *
   * @param fileName such as `SKILL.md`, in any directory
   * @param signal when to give up
   * @throws GitError with what git says when the repository cannot be read
   */
  async read(
    repository: SkillRepository,
    token: string | undefined,
    fileName: string,
    limits: GitFileLimits,
    signal: AbortSignal,
  ): Promise<GitFile[]> {
    const directory = join(this.root, this.keyOf(repository, token));
    await mkdir(this.root, { recursive: true, mode: 0o700 });
    const release = await this.lock(directory, signal);
    try {
      return await this.fetchAndRead(directory, repository, token, fileName, limits, signal);
    } catch (error) {
      // An interrupted git leaves lock files behind that would fail every later one.
      await rm(directory, { recursive: true, force: true });
      throw error;
    } finally {
      await release();
    }
  }

  private async fetchAndRead(
    directory: string,
    repository: SkillRepository,
    token: string | undefined,
    fileName: string,
    limits: GitFileLimits,
    signal: AbortSignal,
  ): Promise<GitFile[]> {
    const git = (args: string[], extra: Pick<GitCommand, 'input' | 'onOutput'> = {}) =>
      runGit({
        args: [`--git-dir=${directory}`, ...args],
        settings: this.settingsFor(repository, token),
        protocols: this.protocols(),
        signal,
        ...extra,
      });
    const packs = await readdir(join(directory, 'objects', 'pack')).catch(() => undefined);
    if (packs === undefined || packs.length > MAX_PACKS * FILES_PER_PACK) {
      await rm(directory, { recursive: true, force: true });
      await this.removeOldest();
      await git(['init', '--quiet', '--bare', '--template=']);
    }
    const fetch = ['fetch', '--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head'];
    // A server that does not filter sends the contents as well.
    await git([...fetch, '--depth=1', '--filter=blob:none', 'origin', `+HEAD:${HEAD}`]);

    const tree = new GitTreeReader(fileName, limits.files);
    await git(['ls-tree', '-r', '-z', '--full-tree', HEAD], { onOutput: (chunk) => tree.push(chunk) });
    if (tree.overLimit) {
      this.logger.warn(
        { repository: `${repository.owner}/${repository.repo}`, limit: limits.files },
        `a repository has more files ${fileName} than are read`,
      );
    }
    const wanted = [...new Set(tree.files.map(({ objectId }) => objectId))].join('\n');
    const batch = new GitBatchReader(limits.bytesPerFile, limits.bytes);
    if (wanted !== '') {
      // All at once: cat-file would fetch what is missing one by one. What is here already is not asked for.
      await git(
        ['-c', 'fetch.negotiationAlgorithm=noop', ...fetch, '--filter=blob:none', '--stdin', 'origin'],
        { input: `${wanted}\n` },
      );
      await git(['cat-file', '--batch'], {
        input: `${wanted}\n`,
        onOutput: (chunk) => batch.push(chunk),
      });
    }
    const now = new Date();
    await utimes(directory, now, now);
    return tree.files.map(({ path, objectId }) => ({ path, content: batch.contents.get(objectId) }));
  }

  private urlOf({ owner, repo }: SkillRepository): string {
    return `${this.config.gitBaseUrl}/${owner}/${repo}`;
  }

  private settingsFor(repository: SkillRepository, token: string | undefined): [string, string][] {
    const url: [string, string] = ['remote.origin.url', this.urlOf(repository)];
    if (token === undefined) return [url];
    // Basic, as git itself would send it; GitHub, GitLab and others take any user name with a token.
    const credentials = Buffer.from(`x-access-token:${token}`).toString('base64');
    return [url, [`http.${this.config.gitBaseUrl}/.extraHeader`, `Authorization: Basic ${credentials}`]];
  }

  /** Where the base leads, and nowhere else by a redirect: above all to no local file. */
  private protocols(): string[] {
    const scheme = new URL(this.config.gitBaseUrl).protocol.slice(0, -1);
    return scheme === 'http' ? ['http', 'https'] : [scheme];
  }

  /** @returns what releases it. @throws GitError when another process holds it until the signal */
  private async lock(directory: string, signal: AbortSignal): Promise<() => Promise<void>> {
    const path = `${directory}.lock`;
    for (;;) {
      try {
        await mkdir(path);
        return () => rmdir(path);
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
      }
      if (signal.aborted) throw new GitError('another process has been reading it all the time');
      await this.breakAbandoned(directory, path);
      await delay(LOCK_POLL_MS);
    }
  }

  /** Renamed first, so that of several who find it abandoned one removes it. */
  private async breakAbandoned(directory: string, lock: string): Promise<void> {
    const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs > new Date().getTime() - LOCK_ABANDONED_AFTER_MS) return;
    const aside = `${lock}.${randomUUID()}`;
    try {
      await rename(lock, aside);
    } catch {
      return;
    }
    await rm(directory, { recursive: true, force: true });
    await rmdir(aside);
  }

  /** Those that somebody reads at the moment are young; and were one removed all the same, its reader would fail and start anew. */
  private async removeOldest(): Promise<void> {
    const names = (await readdir(this.root)).filter((name) => /^[0-9a-f]{64}$/.test(name));
    if (names.length < MAX_REPOSITORIES) return;
    const ages = await Promise.all(
      names.map(async (name) => ({
        path: join(this.root, name),
        readAt: (await stat(join(this.root, name)).catch(() => ({ mtimeMs: 0 }))).mtimeMs,
      })),
    );
    ages.sort((a, b) => a.readAt - b.readAt);
    for (const { path } of ages.slice(0, names.length - MAX_REPOSITORIES + 1)) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code;
