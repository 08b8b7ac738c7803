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

/** What a caller may say that it is, in the header `X-Api-Source`. */
export const API_SOURCES = ['API', 'CLI', 'WEB_APP', 'LOCAL', 'GITHUB_ACTION'] as const satisfies RunSource[];
export type ApiSource = (typeof API_SOURCES)[number];

/** Runs that their creator executes: no worker is given them. */
export const isSelfExecuted = (source: RunSource): boolean => UNCANCELLABLE_SOURCES.includes(source);

/**
 * Cancel refuses runs that this service does not execute itself: those of a self-hosted worker, and those whose creator runs them.
 *
 * @param workerHost null for the hosted pool
 */
export const isCancellableType = (source: RunSource, workerHost: string | null): boolean =>
  workerHost === null && !UNCANCELLABLE_SOURCES.includes(source);

export const UNCANCELLABLE_SOURCES: readonly RunSource[] = ['LOCAL', 'GITHUB_ACTION'];
