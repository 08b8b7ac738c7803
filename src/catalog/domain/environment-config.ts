/** Where runs work; what a team edits of an environment. Only `description` and the retention can be null. */
export interface EnvironmentConfig {
  name?: string;
  description?: string | null;
  docker_image?: string;
  github_repos?: { owner: string; repo: string }[];
  setup_commands?: string[];
  providers?: EnvironmentProviders;
  /** Minutes, 1 to 60, for which the session of a failed set-up is kept for debugging; null or absent: not at all. */
  failure_session_retention_minutes?: number | null;
}

/** The cloud accounts that an execution in the environment signs in to, with its workload token. */
export interface EnvironmentProviders {
  gcp?: {
    project_number: string;
    workload_identity_federation_pool_id: string;
    workload_identity_federation_provider_id: string;
    service_account_email?: string;
  };
  aws?: { role_arn: string };
}
