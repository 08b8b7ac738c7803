import { describe, expect, it } from '@jest/globals';
import { reportOf, type ExecutionEnd } from './execution-report.js';

const REFERENCE = { task_id: 't', execution_id: 'e' };

function exited(code: number | null, signal: NodeJS.Signals | null = null, lastWords = ''): ExecutionEnd {
  return { kind: 'exited', code, signal, lastWords };
}

describe('reportOf', () => {
  it('completes after status 0', () => {
    expect(reportOf(REFERENCE, exited(0), undefined)).toEqual({
      type: 'task_completed',
      data: { ...REFERENCE, message: 'Task completed successfully' },
    });
  });

  it.each([
    [exited(1), 'The runner exited with code 1.', 1],
    [exited(1, null, 'No server.'), 'The runner exited with code 1: No server.', 1],
    [exited(null, 'SIGKILL'), 'The runner was ended by SIGKILL.', 137],
  ])('fails after %j', (end, message, exit_code) => {
    expect(reportOf(REFERENCE, end, undefined)).toEqual({
      type: 'task_failed',
      data: { ...REFERENCE, message, failure_reason: 'agent_invocation', exit_code },
    });
  });

  it.each([
    [
      { kind: 'not_started', reason: 'EAGAIN' },
      'agent_invocation',
      'The runner could not be started: EAGAIN',
    ],
    [
      { kind: 'no_workspace', reason: 'ENOSPC' },
      'workspace_setup',
      'The workspace could not be prepared: ENOSPC',
    ],
  ] as const)('fails without a runner: %j', (end, failure_reason, message) => {
    expect(reportOf(REFERENCE, end, undefined)).toEqual({
      type: 'task_failed',
      data: { ...REFERENCE, message, failure_reason },
    });
  });

  it.each([exited(0), exited(143), exited(null, 'SIGKILL')])('is cancelled when it was, after %j', (end) => {
    expect(reportOf(REFERENCE, end, 'cancelled')).toEqual({
      type: 'task_completed',
      data: { ...REFERENCE, message: 'Task cancelled by user request.', task_state: 'CANCELLED' },
    });
  });

  it('blames the shutdown of the worker, unless the runner had finished', () => {
    expect(reportOf(REFERENCE, exited(143), 'worker_shutdown')).toMatchObject({
      type: 'task_failed',
      data: { failure_reason: 'graceful_shutdown' },
    });
    expect(reportOf(REFERENCE, exited(0), 'worker_shutdown')).toMatchObject({ type: 'task_completed' });
  });
});
