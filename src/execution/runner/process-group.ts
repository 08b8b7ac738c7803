import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { PROCESS_MARK } from './process-mark.js';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const MAX_GUARD_STARTS = 3;

/**
 * Reads a pipe whose only writing end is in the process that started it, so the read ends when that process is gone,
 * whatever ended it; by then its exit status is set, and the kill cannot change it. First the group goes, then what bears the mark:
 * in rounds, because it may be starting more.
 */
const GUARD_SCRIPT = `
trap '' HUP INT TERM
while read -r _; do :; done
kill -s KILL -- "-$1"
round=0
while files=$(grep -l -s -e "$2" /proc/[0-9]*/environ); [ -n "$files" ] && [ "$round" -lt 20 ]; do
  for file in $files; do pid="\${file#/proc/}"; kill -s KILL "\${pid%/environ}"; done
  round=$((round + 1))
done`;

/** A group with our id exists only if we created it: ids of living groups are not given to new processes. */
export function leadsItsProcessGroup(): boolean {
  // To kill(2), group 1 is everybody. A container's first process starts a leader of its own instead.
  if (process.pid === 1) return false;
  try {
    return process.kill(-process.pid, 0);
  } catch {
    return false;
  }
}

/**
 * Makes the process group die with this process, and what bears its mark: workers that know only their direct child kill no more than
 * that, and commands of the agent may have left background processes.
 *
 * A command that kills the guard by name only has it started again. The guard is in no group that anybody kills. Out of reach is what
 * left the group (`setsid`, `set -m`) and cleared its environment too, or where the system does not tell it.
 */
export function guardProcessGroup(groupId: number, starts = 1): void {
  const guard = spawn(
    '/bin/sh',
    ['-c', GUARD_SCRIPT, 'millwright-group-guard', String(groupId), PROCESS_MARK.value],
    {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  const restart = (): void => {
    if (starts < MAX_GUARD_STARTS) guardProcessGroup(groupId, starts + 1);
    else process.stderr.write('The guard of the process group cannot be kept running.\n');
  };
  guard.once('error', restart);
  guard.once('exit', restart);
  guard.stdin.on('error', () => undefined);
}

/**
 * For workers that start the runner inside their own process group: runs this program again as the leader of a new
 * one, passes stop signals on and resolves to its exit status (128 + n for signal n).
 */
export async function relaunchAsGroupLeader(): Promise<number> {
  const leader = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    detached: true,
    stdio: 'inherit',
  });
  await once(leader, 'spawn');
  if (leader.pid !== undefined) guardProcessGroup(leader.pid);
  for (const signal of STOP_SIGNALS) process.on(signal, () => leader.kill(signal));
  const status = await new Promise<number>((resolve) => {
    leader.once('exit', (code, signal) => resolve(exitStatus(code, signal)));
  });
  return status;
}

/** Ends this process, and through the guard its group, as soon as somebody asks for it. */
export function exitOnStopSignals(): void {
  for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(exitStatus(null, signal)));
}

/** The status that a shell shows: 128 + n for signal n. */
export function exitStatus(code: number | null, signal: NodeJS.Signals | null): number {
  if (signal !== null) return 128 + constants.signals[signal];
  return code ?? 0;
}
