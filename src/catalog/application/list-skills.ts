import { Injectable, Logger } from '@nestjs/common';
import { type AccountCaller, ownedBy } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import type { EnvironmentView } from '../domain/environment-view.js';
import { distinctRepositories, repositoryName, type SkillRepository } from '../domain/skill-repository.js';
import type { SkillEntry, SkillSort, SkillVariant } from '../domain/skill-view.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';
import { MAX_REPOSITORIES, type RepositorySkill, RepositorySkills } from './repository-skills.js';
import { SkillRuns } from './skill-runs.js';

const MAX_LISTED_BYTES = 32 * 1024 * 1024;

export interface SkillListing {
  /** Undefined = the repositories of all environments that the caller can reach, the first 50 by the environments' names. */
  repository?: SkillRepository;
  /** Fetch again, however fresh the cache is. */
  refresh: boolean;
  sort: SkillSort;
  includeMalformed: boolean;
}

/** The skills that the caller can start runs with. */
@Injectable()
export class ListSkills {
  private readonly logger = new Logger(ListSkills.name);

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentReadModel,
    private readonly repositories: RepositorySkills,
    private readonly runs: SkillRuns,
  ) {}

  /** Skills of one name, in whatever repositories and paths, are the variants of one entry. A repository that cannot be read is left out. */
  async execute(caller: AccountCaller, listing: SkillListing): Promise<SkillEntry[]> {
    const owner = ownedBy(caller);
    const environments = await this.environments.list(this.database, caller, 'name');
    const asked =
      listing.repository === undefined
        ? this.upToTheLimit(distinctRepositories(environments.flatMap(repositoriesOf)))
        : [listing.repository];
    const readings = await this.repositories.read(asked, owner, { refresh: listing.refresh });
    let bytes = 0;
    const skills = readings.flatMap((reading, index) => {
      if (reading.outcome === 'unreachable') return [];
      bytes += reading.bytes;
      if (bytes <= MAX_LISTED_BYTES) return reading.skills;
      this.logger.warn(
        { repository: asked.slice(index, index + 1).map(repositoryName) },
        'a repository is left out of a list of skills that is too long',
      );
      return [];
    });
    const listed = skills.filter(({ file }) => file.outcome === 'parsed' || listing.includeMalformed);
    const lastRuns = await this.runs.lastRuns(
      listed.map(({ spec }) => spec),
      owner,
    );
    const using = environmentsByRepository(environments);
    const entries = new Map<string, SkillVariant[]>();
    for (const skill of listed) {
      const variants = entries.get(skill.file.name) ?? [];
      variants.push(toVariant(skill, using, lastRuns));
      entries.set(skill.file.name, variants);
    }
    return [...entries]
      .map(([name, variants]) => ({ name, variants: variants.sort((a, b) => compare(a.id, b.id)) }))
      .sort(ORDERS[listing.sort]);
  }

  private upToTheLimit(repositories: SkillRepository[]): SkillRepository[] {
    const leftOut = repositories.slice(MAX_REPOSITORIES);
    if (leftOut.length > 0) {
      this.logger.warn(
        { leftOut: leftOut.length },
        'a list of skills leaves out repositories over the limit',
      );
    }
    return repositories.slice(0, MAX_REPOSITORIES);
  }
}

/** The repositories that an environment clones. */
export const repositoriesOf = ({ config }: EnvironmentView): SkillRepository[] => config.github_repos ?? [];

type EnvironmentNames = Map<string, { uid: string; name: string }[]>;

/** The names by `owner/repo`, each environment once. */
function environmentsByRepository(environments: EnvironmentView[]): EnvironmentNames {
  const byRepository: EnvironmentNames = new Map();
  for (const environment of environments) {
    for (const repository of distinctRepositories(repositoriesOf(environment))) {
      const names = byRepository.get(repositoryName(repository)) ?? [];
      names.push({ uid: environment.uid, name: environment.config.name ?? '' });
      byRepository.set(repositoryName(repository), names);
    }
  }
  return byRepository;
}

const toVariant = (
  { spec, repository, path, file }: RepositorySkill,
  environments: EnvironmentNames,
  lastRuns: Map<string, Date>,
): SkillVariant => ({
  id: spec,
  repository,
  path,
  environments: environments.get(repositoryName(repository)) ?? [],
  lastRun: lastRuns.get(spec),
  ...(file.outcome === 'parsed'
    ? { description: file.description, body: file.body }
    : { description: '', body: '', error: file.error }),
});

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const lastRunOf = ({ variants }: SkillEntry): number =>
  Math.max(...variants.map(({ lastRun }) => lastRun?.getTime() ?? -Infinity));

const ORDERS: Record<SkillSort, (a: SkillEntry, b: SkillEntry) => number> = {
  name: (a, b) => compare(a.name, b.name),
  last_run: (a, b) => {
    const [first, second] = [lastRunOf(a), lastRunOf(b)];
    return first === second ? compare(a.name, b.name) : first > second ? -1 : 1;
  },
};
