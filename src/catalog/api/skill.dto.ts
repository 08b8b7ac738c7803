import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsOptional, Matches } from 'class-validator';
import { REPOSITORY_NAME } from '../domain/skill-repository.js';
import { SKILL_SORTS, type SkillEntry, type SkillSort, type SkillVariant } from '../domain/skill-view.js';

/** A query parameter is text: `true` and `false` are meant, anything else is left for the validation to refuse. */
const FromText = () =>
  Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value));

/** Which skills, and in which order. */
export class ListSkillsQuery {
  /**
   * Only those of this repository; by default those of every repository in the environments that the caller can reach.
   * @example "acme/tools"
   */
  @IsOptional()
  @Matches(REPOSITORY_NAME, { message: 'must be a repository as owner/repo' })
  @ApiProperty({ required: false })
  repo?: string;

  /**
   * Read the repositories again instead of answering from a cache that is up to five minutes old.
   * @example false
   */
  @IsOptional()
  @FromText()
  @IsBoolean()
  @ApiProperty({ type: Boolean, required: false })
  refresh = false;

  /**
   * By name, or by the last run, the latest first and what was never run at the end.
   * @example "name"
   */
  @IsOptional()
  @IsIn(SKILL_SORTS)
  @ApiProperty({ enum: SKILL_SORTS, required: false })
  sort_by: SkillSort = 'name';

  /**
   * List what cannot be used as well, each with its `error`.
   * @example false
   */
  @IsOptional()
  @FromText()
  @IsBoolean()
  @ApiProperty({ type: Boolean, required: false })
  include_malformed_skills = false;
}

/** Where a skill was found. */
export class SkillSourceResponse {
  /**
   * Owner of the repository.
   * @example "acme"
   */
  owner: string;

  /**
   * Name of the repository.
   * @example "tools"
   */
  name: string;

  /**
   * Path of the SKILL.md in the repository.
   * @example ".agents/skills/deploy/SKILL.md"
   */
  skill_path: string;
}

/** An environment that contains the repository. */
export class SkillEnvironmentResponse {
  /**
   * Its id.
   * @example "7cRkJ2wq0nUeXb5TzLsV1A"
   */
  uid: string;

  /**
   * Its name.
   * @example "Backend"
   */
  name: string;
}

/** One SKILL.md. */
export class SkillVariantResponse {
  /**
   * Its id, `{owner}/{repo}:{path}`: what a run names it by.
   * @example "acme/tools:.agents/skills/deploy/SKILL.md"
   */
  id: string;

  /**
   * What the skill does and when to use it.
   * @example "Deploys a service. Use when asked to release."
   */
  description: string;

  /**
   * The instructions.
   * @example "Run `make deploy` and watch the roll-out."
   */
  base_prompt: string;

  /** Where it was found. */
  source: SkillSourceResponse;

  /** The environments that the caller can reach and that contain the repository. */
  environments: SkillEnvironmentResponse[];

  /**
   * When it was last run, among the runs that the caller may see; null when it never was.
   * @example "2026-11-21T09:30:00.000Z"
   */
  @ApiProperty({ format: 'date-time', nullable: true, required: false, type: String })
  last_run_timestamp?: string | null;

  /**
   * Why the skill cannot be used; only with `include_malformed_skills`.
   * @example "`description` is missing"
   */
  error?: string;
}

/** All skills of one name. */
export class SkillResponse {
  /**
   * The name.
   * @example "deploy"
   */
  name: string;

  /** Where there are skills of this name. */
  variants: SkillVariantResponse[];
}

/** The skills. */
export class ListSkillsResponse {
  /** One entry for each name. */
  agents: SkillResponse[];
}

/** The skills as the API shows them. */
export const toListSkillsResponse = (entries: SkillEntry[]): ListSkillsResponse => ({
  agents: entries.map(({ name, variants }) => ({ name, variants: variants.map(toVariantResponse) })),
});

const toVariantResponse = (variant: SkillVariant): SkillVariantResponse => ({
  id: variant.id,
  description: variant.description,
  base_prompt: variant.body,
  source: {
    owner: variant.repository.owner,
    name: variant.repository.repo,
    skill_path: variant.path,
  },
  environments: variant.environments.map(({ uid, name }) => ({ uid, name })),
  last_run_timestamp: variant.lastRun?.toISOString() ?? null,
  error: variant.error,
});
