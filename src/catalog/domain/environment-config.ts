/** Where runs work; what a team edits of an environment. */
export interface EnvironmentConfig {
  name?: string;
  description?: string | null;
  docker_image?: string;
  github_repos?: { owner: string; repo: string }[];
  setup_commands?: string[];
  providers?: { gcp?: Record<string, unknown>; aws?: { role_arn: string } };
  /** How long the session of a failed set-up is kept for debugging. */
  failure_session_retention_minutes?: number | null;
}
