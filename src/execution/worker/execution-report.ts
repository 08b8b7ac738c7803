import { constants } from 'node:os';
import type { WorkerMessage } from '../protocol/worker-messages.js';
import type { RunnerEnd } from './runner-process.js';

/** Why a worker stopped a runner. */
export type StopCause = 'cancelled' | 'worker_shutdown';

/** How an execution ended, as its worker saw it. */
export type ExecutionEnd = RunnerEnd | { kind: 'no_workspace'; reason: string };

const LAST_WORDS_LIMIT = 500;

/** The one message that closes an execution. What the run itself achieved, its runner has told the server before. */
export function reportOf(
  reference: { task_id: string; execution_id: string },
  end: ExecutionEnd,
  stopCause: StopCause | undefined,
): WorkerMessage {
  if (stopCause === 'cancelled') {
    const message = 'Task cancelled by user request.';
    return { type: 'task_completed', data: { ...reference, message, task_state: 'CANCELLED' } };
  }
  if (end.kind === 'exited' && end.code === 0) {
    return { type: 'task_completed', data: { ...reference, message: 'Task completed successfully' } };
  }
  if (stopCause === 'worker_shutdown') {
    const message = 'The worker was stopped before this run had finished.';
    return { type: 'task_failed', data: { ...reference, message, failure_reason: 'graceful_shutdown' } };
  }
  switch (end.kind) {
    case 'exited':
      return {
        type: 'task_failed',
        data: {
          ...reference,
          message: describeExit(end),
          failure_reason: 'agent_invocation',
          exit_code: exitCodeOf(end),
        },
      };
    case 'not_started': {
      const message = `The runner could not be started: ${end.reason}`;
      return { type: 'task_failed', data: { ...reference, message, failure_reason: 'agent_invocation' } };
    }
    case 'no_workspace': {
      const message = `The workspace could not be prepared: ${end.reason}`;
      return { type: 'task_failed', data: { ...reference, message, failure_reason: 'workspace_setup' } };
    }
  }
}

type Exit = Extract<RunnerEnd, { kind: 'exited' }>;

function describeExit({ code, signal, lastWords }: Exit): string {
  const how = signal === null ? `The runner exited with code ${code}` : `The runner was ended by ${signal}`;
  return lastWords === '' ? `${how}.` : `${how}: ${lastWords.slice(0, LAST_WORDS_LIMIT)}`;
}

/** 128 + n for signal n. */
function exitCodeOf({ code, signal }: Exit): number | undefined {
  return signal === null ? (code ?? undefined) : 128 + constants.signals[signal];
}
