import { ControlPlane, ExecutionOverError } from './control-plane.js';
import { executeRun } from './execute-run.js';
import { INITIAL_PATIENCE_MS } from './patience.js';
import {
  exitOnStopSignals,
  guardProcessGroup,
  leadsItsProcessGroup,
  relaunchAsGroupLeader,
} from './process-group.js';
import { killMarkedProcesses } from './process-mark.js';
import { readRunnerEnvironment } from './runner-environment.js';

/**
 * Exit statuses: 0 when the outcome was reported, or nobody waits for it any more; 1 when it could not be; 128 + n when
 * signal n stopped the runner. Whatever the status, the process group and what the agent has started elsewhere end with this process.
 */
async function main(): Promise<number> {
  if (!leadsItsProcessGroup()) return relaunchAsGroupLeader();
  exitOnStopSignals();
  process.once('exit', killMarkedProcesses);
  guardProcessGroup(process.pid);
  try {
    await executeRun(new ControlPlane(readRunnerEnvironment(), INITIAL_PATIENCE_MS), note);
    return 0;
  } catch (error) {
    note(error instanceof Error ? error.message : String(error));
    return error instanceof ExecutionOverError && error.status === 409 ? 0 : 1;
  }
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

// The runner outlives its worker, and with it the reader of its outputs.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

process.exit(await main());
