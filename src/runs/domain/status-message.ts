/** The error codes that a run's status message can carry. */
export const RUN_ERROR_CODES = [
  'environment_setup_failed',
  'integration_not_configured',
  'agent_process_failed',
  'infrastructure_timeout',
  'resource_unavailable',
  'content_policy_violation',
  'insufficient_credits',
] as const;
export type RunErrorCode = (typeof RUN_ERROR_CODES)[number];

/** Why a run waits, or why it ended as it did. */
export interface StatusMessage {
  message: string;
  error_code?: RunErrorCode;
  /** Whether the same run, started again, can succeed. */
  retryable?: boolean;
}

/** Reasons for which the agent's side of a run fails, as a runner reports them. */
const RUNNER_FAULTS: ReadonlySet<string> = new Set<RunErrorCode>([
  'environment_setup_failed',
  'integration_not_configured',
  'agent_process_failed',
  'content_policy_violation',
  'insufficient_credits',
]);

/**
 * What a runner's or worker's failure means for the run: FAILED is the user's to fix, ERROR the platform's.
 *
 * @param category an error code of a run, or a category that workers use, such as `oom` or `timeout`
 */
export function classifyFailure(
  category: string,
  message: string,
): { event: 'fail' | 'error'; statusMessage: StatusMessage } {
  if (RUNNER_FAULTS.has(category)) {
    return {
      event: 'fail',
      statusMessage: { message, error_code: category as RunErrorCode, retryable: false },
    };
  }
  if (category === 'timeout' || category === 'task_timeout' || category === 'infrastructure_timeout') {
    return {
      event: 'error',
      statusMessage: { message, error_code: 'infrastructure_timeout', retryable: true },
    };
  }
  return { event: 'error', statusMessage: { message, error_code: 'resource_unavailable', retryable: true } };
}
