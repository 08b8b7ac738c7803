import { type Addresses, parseCommandLine, type Report } from './command-line.js';
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
 * Executes a run, or makes one call for its agent.
 *
 * Exit statuses: 0 when the call was answered, 1 when not, 2 when the arguments say nothing. Of an execution: 0 when the outcome was reported, or nobody waits for it any more; 1 when it could not be; 128 + n when
 * signal n stopped the runner. Whatever the status, the process group and what the agent has started elsewhere end with this process.
 */
async function main(): Promise<number> {
  const line = parseCommandLine(process.argv.slice(2));
  switch (line.kind) {
    case 'execute':
      return execute(line.addresses);
    case 'report':
      return report(line.addresses, line.report);
    case 'unknown':
      note(line.problem);
      return 2;
  }
}

async function report(addresses: Addresses, call: Report): Promise<number> {
  try {
    const controlPlane = new ControlPlane(readRunnerEnvironment(undefined, addresses), INITIAL_PATIENCE_MS);
    if (call.call === 'ping') await controlPlane.heartbeat();
    else await controlPlane.report(call.call, call.body);
    return 0;
  } catch (error) {
    note(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

async function execute(addresses: Addresses): Promise<number> {
  if (!leadsItsProcessGroup()) return relaunchAsGroupLeader();
  exitOnStopSignals();
  process.once('exit', killMarkedProcesses);
  guardProcessGroup(process.pid);
  try {
    await executeRun(
      new ControlPlane(readRunnerEnvironment(undefined, addresses), INITIAL_PATIENCE_MS),
      note,
    );
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
