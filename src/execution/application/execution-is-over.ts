import { Problem } from '../../kernel/errors/problem.js';

/** What a runner is answered whose execution has ended, was asked to stop or has lost its lease. */
export const executionIsOver = (): Problem =>
  new Problem('conflict', { detail: 'The execution is over: stop the agent', retryable: false });
