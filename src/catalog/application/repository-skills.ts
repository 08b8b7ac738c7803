import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { Clock, MINUTE, SECOND } from '../../kernel/clock.js';
import {
  MAX_SKILL_BYTES,
  MAX_SKILL_FILE_BYTES,
  parseSkillFile,
  type SkillFile,
} from '../domain/skill-file.js';
import { repositoryName, type SkillRepository } from '../domain/skill-repository.js';
import { GitCache, type GitFile } from '../persistence/git-cache.js';
import { GitError } from '../persistence/git-command.js';
import { type CredentialOwner, GitCredentials } from './git-credentials.js';
import { Slots } from './git-slots.js';

/** A SKILL.md of a repository. */
export interface RepositorySkill {
  repository: SkillRepository;
  /** From the root of the repository, with the file's name. */
  path: string;
  /** `{owner}/{repo}:{path}`. */
  spec: string;
  file: SkillFile;
}

export type RepositoryReading =
  { outcome: 'read'; skills: RepositorySkill[]; bytes: number } | { outcome: 'unreachable'; reason: string };

interface Cached {
  reading: RepositoryReading;
  until: number;
}

const SKILL_FILE = 'SKILL.md';
const FRESH_MS = 5 * MINUTE;
/** Shorter, so that a repository is soon there again; not nothing, since each try may take as long as the deadline. */
const UNREACHABLE_MS = 30 * SECOND;
const DEADLINE_MS = 30 * SECOND;
const CONCURRENCY = 4;
/** Of one list; {@link RepositorySkills.read} is not asked for more. */
export const MAX_REPOSITORIES = 50;
const LIMITS = { files: 1000, bytesPerFile: MAX_SKILL_FILE_BYTES, bytes: MAX_SKILL_BYTES };
const MAX_CACHED_REPOSITORIES = 500;
const MAX_CACHED_BYTES = 64 * 1024 * 1024;

/**
 * The skills of repositories, kept in memory for five minutes. Whoever asks for a repository that is being fetched waits for that
 * fetch. A repository that does not answer within 30 seconds, waiting for its turn included, counts as unreachable.
 */
@Injectable()
export class RepositorySkills implements OnApplicationShutdown {
  private readonly logger = new Logger(RepositorySkills.name);
  private readonly slots = new Slots(CONCURRENCY);
  private readonly stopping = new AbortController();
  /** In the order of their last use. */
  private readonly cache = new Map<string, Cached>();
  private cachedBytes = 0;
  private readonly flights = new Map<string, Promise<RepositoryReading>>();

  constructor(
    private readonly git: GitCache,
    private readonly credentials: GitCredentials,
    private readonly clock: Clock,
  ) {}

  /**
   * The repositories in their order, each by its outcome.
   *
   * @param owner whose credentials may be used
   * @param options refresh = fetch again, however fresh the cache is
   */
  async read(
    repositories: SkillRepository[],
    owner: CredentialOwner,
    options: { refresh: boolean } = { refresh: false },
  ): Promise<RepositoryReading[]> {
    const token = await this.credentials.tokenFor(owner);
    return Promise.all(repositories.map((repository) => this.readOne(repository, token, options.refresh)));
  }

  onApplicationShutdown(): void {
    this.stopping.abort(new Error('the service stops'));
  }

  private readOne(
    repository: SkillRepository,
    token: string | undefined,
    refresh: boolean,
  ): Promise<RepositoryReading> {
    const key = this.git.keyOf(repository, token);
    const cached = refresh ? undefined : this.takeFresh(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const running = this.flights.get(key);
    if (running !== undefined) return running;
    const flight = this.fetch(key, repository, token).finally(() => this.flights.delete(key));
    this.flights.set(key, flight);
    return flight;
  }

  private async fetch(
    key: string,
    repository: SkillRepository,
    token: string | undefined,
  ): Promise<RepositoryReading> {
    const signal = AbortSignal.any([AbortSignal.timeout(DEADLINE_MS), this.stopping.signal]);
    if (!(await this.slots.acquire(signal))) return this.unreachable(repository, 'too many are being read');
    try {
      const files = await this.git.read(repository, token, SKILL_FILE, LIMITS, signal);
      const reading: RepositoryReading = {
        outcome: 'read',
        skills: await parseAll(repository, files, signal),
        bytes: files.reduce((sum, { content }) => sum + (content?.length ?? 0), 0),
      };
      this.keep(key, reading, FRESH_MS);
      return reading;
    } catch (error) {
      const isGits = error instanceof GitError;
      if (!isGits) this.logger.error({ err: error }, 'the cache of repositories failed');
      const reading = this.unreachable(repository, isGits ? error.message : 'its cache cannot be written');
      this.keep(key, reading, UNREACHABLE_MS);
      return reading;
    } finally {
      this.slots.release();
    }
  }

  private unreachable(repository: SkillRepository, reason: string): RepositoryReading {
    this.logger.warn({ repository: repositoryName(repository), reason }, 'a repository cannot be read');
    return { outcome: 'unreachable', reason };
  }

  private takeFresh(key: string): RepositoryReading | undefined {
    const cached = this.cache.get(key);
    if (cached === undefined) return undefined;
    this.forget(key);
    if (cached.until <= this.clock.now().getTime()) return undefined;
    this.remember(key, cached);
    return cached.reading;
  }

  private keep(key: string, reading: RepositoryReading, forMs: number): void {
    this.forget(key);
    this.remember(key, { reading, until: this.clock.now().getTime() + forMs });
    for (const oldest of this.cache.keys()) {
      if (this.cache.size <= MAX_CACHED_REPOSITORIES && this.cachedBytes <= MAX_CACHED_BYTES) break;
      this.forget(oldest);
    }
  }

  private remember(key: string, cached: Cached): void {
    this.cache.set(key, cached);
    this.cachedBytes += bytesOf(cached.reading);
  }

  private forget(key: string): void {
    const cached = this.cache.get(key);
    if (cached !== undefined) this.cachedBytes -= bytesOf(cached.reading);
    this.cache.delete(key);
  }
}

const bytesOf = (reading: RepositoryReading): number => (reading.outcome === 'read' ? reading.bytes : 0);

async function parseAll(
  repository: SkillRepository,
  files: GitFile[],
  signal: AbortSignal,
): Promise<RepositorySkill[]> {
  const skills: RepositorySkill[] = [];
  for (const { path, content } of files) {
    if (signal.aborted) throw new GitError('its skills take too long to parse');
    const directory = path.split('/').at(-2);
    skills.push({
      repository,
      path,
      spec: `${repositoryName(repository)}:${path}`,
      file: parseSkillFile(content, directory, directory ?? repository.repo),
    });
    // Others want their turn between two hostile files.
    await setImmediate();
  }
  return skills;
}
