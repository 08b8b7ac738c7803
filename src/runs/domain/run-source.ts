/** What started a run. */
export const RUN_SOURCES = [
  'LINEAR',
  'API',
  'SLACK',
  'LOCAL',
  'SCHEDULED_AGENT',
  'WEB_APP',
  'GITHUB_ACTION',
  'CLOUD_MODE',
  'CLI',
  'JIRA',
  'SELF_IMPROVEMENT',
  'GITHUB_WEBHOOK',
  'GITLAB_WEBHOOK',
  'AUTOFIX',
  'RUN_SCORER',
  'ORCHESTRATION',
  'WEBHOOK',
] as const;
export type RunSource = (typeof RUN_SOURCES)[number];

/**
 * Cancel refuses runs that this service does not execute itself: those of a self-hosted worker, and those whose creator runs them.
 *
 * @param workerHost null for the hosted pool
 */
export const isCancellableType = (source: RunSource, workerHost: string | null): boolean =>
  workerHost === null && !UNCANCELLABLE_SOURCES.includes(source);

export const UNCANCELLABLE_SOURCES: readonly RunSource[] = ['LOCAL', 'GITHUB_ACTION'];
