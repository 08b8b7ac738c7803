import type { SkillRepository } from './skill-repository.js';

/** Orders of the list: by name, or by the last run, the latest first and what was never run at the end. */
export const SKILL_SORTS = ['name', 'last_run'] as const;
export type SkillSort = (typeof SKILL_SORTS)[number];

/** One SKILL.md. */
export interface SkillVariant {
  /** `{owner}/{repo}:{path}`. */
  id: string;
  repository: SkillRepository;
  /** From the root of the repository, with the file's name. */
  path: string;
  /** Empty when it is malformed, as `body` is. */
  description: string;
  /** The instructions. */
  body: string;
  /** Those that the reader can reach and that contain the repository. */
  environments: { uid: string; name: string }[];
  /** Among the runs that the reader may see. */
  lastRun: Date | undefined;
  /** Why it is malformed. */
  error?: string;
}

/** All skills of one name. */
export interface SkillEntry {
  name: string;
  variants: SkillVariant[];
}
