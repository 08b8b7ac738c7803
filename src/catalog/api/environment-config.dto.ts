import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsEmail,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import type { EnvironmentConfig, EnvironmentProviders } from '../domain/environment-config.js';

const SHORT = 256;
const LONG = 10_000;
const MAX_REPOS = 50;
const MAX_SETUP_COMMANDS = 100;

/** Both become parts of an address and of a path: no separator, no `..`, nothing that reads as an option. */
const OWNER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const REPO = /^(?!\.{1,2}$)(?!.*\.git$)[A-Za-z0-9._][A-Za-z0-9._-]{0,99}$/i;
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$/;
const ROLE_ARN = /^arn:[a-z-]{1,32}:iam::[0-9]{1,12}:role\/[A-Za-z0-9+=,.@_/-]{1,576}$/;

/** A repository that is cloned into the environment. */
export class EnvironmentRepoDto {
  /**
   * Who owns it.
   * @example "acme"
   */
  @Matches(OWNER, {
    message: 'must be 1 to 100 characters of A-Z a-z 0-9 . _ -, the first a letter or digit',
  })
  owner: string;

  /**
   * Its name, without `.git`.
   * @example "shop"
   */
  @Matches(REPO, {
    message: "must be a repository's name: 1 to 100 characters of A-Z a-z 0-9 . _ -, without .git",
  })
  repo: string;
}

/** Workload identity federation with Google Cloud. */
export class GcpProviderDto {
  /**
   * Number of the project.
   * @example "123456789012"
   */
  @Matches(/^[0-9]{1,20}$/, { message: "must be a project's number, as a string of digits" })
  project_number: string;

  /**
   * The pool.
   * @example "millwright"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(SHORT)
  workload_identity_federation_pool_id: string;

  /**
   * The provider in the pool.
   * @example "runs"
   */
  @IsString()
  @IsNotEmpty()
  @MaxLength(SHORT)
  workload_identity_federation_provider_id: string;

  /**
   * The service account to act as; left out, the federated identity itself.
   * @example "agent@acme-shop.iam.gserviceaccount.com"
   */
  @IsOptional()
  @IsEmail()
  @MaxLength(SHORT)
  service_account_email?: string;
}

/** A role at AWS that is assumed with the workload token. */
export class AwsProviderDto {
  /**
   * The role.
   * @example "arn:aws:iam::123456789012:role/agent"
   */
  @Matches(ROLE_ARN, { message: 'must be the ARN of an IAM role' })
  role_arn: string;
}

/** The cloud accounts that an execution signs in to. */
export class EnvironmentProvidersDto implements EnvironmentProviders {
  /** Google Cloud. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => GcpProviderDto)
  gcp?: GcpProviderDto;

  /** Amazon Web Services. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => AwsProviderDto)
  aws?: AwsProviderDto;
}

/** Where runs work: an image, repositories and set-up commands. Whoever may use the environment reads all of it: no place for a secret. */
export class EnvironmentConfigDto implements EnvironmentConfig {
  /**
   * A name to find it by.
   * @example "web shop"
   */
  @IsOptional()
  @IsString()
  @IsNotEmpty()
  @MaxLength(SHORT)
  name?: string;

  /**
   * What it is for.
   * @example "Node 24 with the shop and its end-to-end tests"
   */
  @IsOptional()
  @IsString()
  @MaxLength(LONG)
  @ApiProperty({ type: String, nullable: true, required: false })
  description?: string | null;

  /**
   * The container image to work in, where the worker starts containers.
   * @example "node:24-bookworm"
   */
  @IsOptional()
  @Matches(IMAGE, { message: 'must be the reference of an image, of at most 512 characters' })
  docker_image?: string;

  /** The repositories to clone, at most 50. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_REPOS)
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => EnvironmentRepoDto)
  github_repos?: EnvironmentRepoDto[];

  /**
   * Shell commands that are run before the agent starts, in this order: at most 100, of at most 10,000 characters each.
   * @example ["npm ci", "npm run build"]
   */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_SETUP_COMMANDS)
  @IsString({ each: true })
  @IsNotEmpty({ each: true })
  @MaxLength(LONG, { each: true })
  setup_commands?: string[];

  /** The cloud accounts that an execution signs in to. */
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => EnvironmentProvidersDto)
  providers?: EnvironmentProvidersDto;

  /**
   * For how many minutes the session of a failed set-up is kept for debugging; null or left out: not at all.
   * @example 30
   */
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(60)
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 60, nullable: true, required: false })
  failure_session_retention_minutes?: number | null;
}

/** An environment to make. */
export class CreateEnvironmentRequest extends EnvironmentConfigDto {
  /**
   * Whether the team owns it rather than the caller; by default it does where the caller has exactly one team.
   * @example true
   */
  @IsOptional()
  @IsBoolean()
  team?: boolean;
}

/** What is stored of a request. Null stands for what is left out, but where null is a value of its own. */
export const toEnvironmentConfig = (request: EnvironmentConfigDto): EnvironmentConfig => ({
  name: request.name ?? undefined,
  description: request.description,
  docker_image: request.docker_image ?? undefined,
  github_repos: request.github_repos?.map(({ owner, repo }) => ({ owner, repo })),
  setup_commands: request.setup_commands ?? undefined,
  providers: request.providers ? toProviders(request.providers) : undefined,
  failure_session_retention_minutes: request.failure_session_retention_minutes,
});

const toProviders = ({ gcp, aws }: EnvironmentProvidersDto): EnvironmentProviders => ({
  gcp: gcp
    ? {
        project_number: gcp.project_number,
        workload_identity_federation_pool_id: gcp.workload_identity_federation_pool_id,
        workload_identity_federation_provider_id: gcp.workload_identity_federation_provider_id,
        service_account_email: gcp.service_account_email ?? undefined,
      }
    : undefined,
  aws: aws ? { role_arn: aws.role_arn } : undefined,
});
