import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

const VARIABLE = 'MILLWRIGHT_PROCESS_MARK';
const ROUNDS = 20;

/**
 * Stands in the environment of every process that is started for the execution, and in that of nothing else: agents start their
 * commands in sessions of their own, where no signal to the runner's process group reaches them.
 */
export const PROCESS_MARK: Readonly<{ name: string; value: string }> = {
  name: VARIABLE,
  value: randomUUID(),
};

/**
 * Kills every process that bears the mark, and whatever those start meanwhile. Linux alone tells the environment of a process; where
 * it cannot be read (another system, another user, a process that cleared its own) nothing is done.
 */
export function killMarkedProcesses(): void {
  for (let round = 0; round < ROUNDS && killRound() > 0; round += 1);
}

function killRound(): number {
  return readIds().filter((pid) => isMarked(pid) && kill(pid)).length;
}

function readIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .map(Number);
  } catch {
    return [];
  }
}

/** One that has ended has no environment any more. */
function isMarked(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${VARIABLE}=${PROCESS_MARK.value}`);
  } catch {
    return false;
  }
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
