/** A repository, as `{owner}/{repo}` below the configured base. */
export interface SkillRepository {
  owner: string;
  repo: string;
}

const SEGMENT = '(?![-.])[A-Za-z0-9._-]{1,100}';

/** `owner/repo`. Neither part can be taken for an option, leave its directory or need quoting in a URL. */
export const REPOSITORY_NAME = new RegExp(`^${SEGMENT}/${SEGMENT}$`);

/** @returns undefined for what is no `owner/repo` */
export function parseRepository(text: string): SkillRepository | undefined {
  if (!REPOSITORY_NAME.test(text)) return undefined;
  const [owner = '', repo = ''] = text.split('/');
  return { owner, repo };
}

/** `owner/repo` again. */
export const repositoryName = ({ owner, repo }: SkillRepository): string => `${owner}/${repo}`;

/** The repositories without repetitions, in their order; what is no valid name is left out. */
export function distinctRepositories(repositories: SkillRepository[]): SkillRepository[] {
  return [...new Set(repositories.map(repositoryName))].flatMap((name) => parseRepository(name) ?? []);
}
