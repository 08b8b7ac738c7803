import { Injectable } from '@nestjs/common';
import { type AccountCaller, ownedBy } from '../../identities/index.js';
import { Database } from '../../kernel/persistence/database.js';
import { distinctRepositories, repositoryName, type SkillRepository } from '../domain/skill-repository.js';
import { closest, parseSkillSelector, type SkillSelector } from '../domain/skill-selector.js';
import { EnvironmentReadModel } from '../persistence/environment.read-model.js';
import { repositoriesOf } from './list-skills.js';
import { MAX_REPOSITORIES, type RepositorySkill, RepositorySkills } from './repository-skills.js';

/** What a run's skill turned out to be. */
export type SkillResolution =
  | {
      outcome: 'found';
      /** `owner/repo:path/SKILL.md`, in whatever form it was asked for. */
      spec: string;
      name: string;
      description: string;
      /** The instructions. */
      body: string;
      /** From the root of the repository, with the file's name. */
      fullPath: string;
    }
  /** Candidates are specs, of which the caller has to name one. */
  | { outcome: 'ambiguous'; candidates: string[] }
  /** Candidates are the specs of similar names, the closest first, at most 20. */
  | { outcome: 'not_found'; candidates: string[] }
  | { outcome: 'malformed'; error: string }
  /** It may well be in this repository, which cannot be read at the moment. */
  | { outcome: 'unreachable'; repo: string };

const MAX_CANDIDATES = 20;

/** Finds the one skill that a run names. */
@Injectable()
export class ResolveSkill {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentReadModel,
    private readonly repositories: RepositorySkills,
  ) {}

  /**
   * @param spec `owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:path/SKILL.md`, `repo:name` or `name`. The last three look in the repositories
   *   of the environment, or without one in those of all environments that the caller can reach
   * @param environmentUid the run's environment; one that the caller cannot reach has no repositories
   */
  async execute(caller: AccountCaller, spec: string, environmentUid?: string): Promise<SkillResolution> {
    const selector = parseSkillSelector(spec);
    if (selector === undefined) return { outcome: 'not_found', candidates: [] };
    const repositories = await this.repositoriesFor(caller, selector.in, environmentUid);
    const readings = await this.repositories.read(repositories, ownedBy(caller));
    const skills = readings.flatMap((reading) => (reading.outcome === 'read' ? reading.skills : []));
    const { by } = selector;
    const matching = skills.filter(({ path, file }) =>
      'path' in by ? path === by.path : file.name === by.name,
    );
    const [only, ...others] = matching.flatMap(wellFormed);
    if (only !== undefined && others.length === 0) return only;
    if (only !== undefined) {
      const candidates = [only, ...others].map((skill) => skill.spec).sort();
      return { outcome: 'ambiguous', candidates: candidates.slice(0, MAX_CANDIDATES) };
    }
    const [malformed] = matching.flatMap(({ file }) => (file.outcome === 'malformed' ? [file] : []));
    if (malformed !== undefined) return { outcome: 'malformed', error: malformed.error };
    const unreachable = repositories.find((_, index) => readings[index]?.outcome === 'unreachable');
    if (unreachable !== undefined) return { outcome: 'unreachable', repo: repositoryName(unreachable) };
    const usable = skills.filter(({ file }) => file.outcome === 'parsed');
    return { outcome: 'not_found', candidates: closestSpecs(usable, by) };
  }

  private async repositoriesFor(
    caller: AccountCaller,
    place: SkillSelector['in'],
    environmentUid: string | undefined,
  ): Promise<SkillRepository[]> {
    if (typeof place === 'object' && 'repository' in place) return [place.repository];
    const environments =
      environmentUid === undefined
        ? await this.environments.list(this.database, caller, 'name')
        : [(await this.environments.find(this.database, caller, environmentUid)) ?? []].flat();
    return distinctRepositories(environments.flatMap(repositoriesOf))
      .filter(({ repo }) => place === 'anywhere' || repo === place.repositoryNamed)
      .slice(0, MAX_REPOSITORIES);
  }
}

const wellFormed = ({ spec, path, file }: RepositorySkill) =>
  file.outcome === 'parsed'
    ? [
        {
          outcome: 'found' as const,
          spec,
          name: file.name,
          description: file.description,
          body: file.body,
          fullPath: path,
        },
      ]
    : [];

const closestSpecs = (skills: RepositorySkill[], by: SkillSelector['by']): string[] =>
  ('path' in by
    ? closest(skills, ({ path }) => nameInPath(path), nameInPath(by.path), MAX_CANDIDATES)
    : closest(skills, ({ file }) => file.name, by.name, MAX_CANDIDATES)
  ).map(({ spec }) => spec);

/** The directory that a SKILL.md lies in, which is named like the skill. */
const nameInPath = (path: string): string => path.split('/').at(-2) ?? path;
