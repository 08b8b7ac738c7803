import { execFileSync } from 'node:child_process';
import { hasEnded, readProcStat } from './proc-stat.js';

/** Names a process for longer than its id does: ids are given to new processes. */
export interface ProcessIdentity {
  pid: number;
  /** When it started, in whatever unit the system tells: only good for comparing. */
  startTime: string;
}

/** Undefined when there is no such process (any more). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startTime = process.platform === 'linux' ? startTimeByProc(pid) : startTimeByPs(pid);
  return startTime === undefined ? undefined : { pid, startTime };
}

export function isAlive({ pid, startTime }: ProcessIdentity): boolean {
  return identifyProcess(pid)?.startTime === startTime;
}

function startTimeByProc(pid: number): string | undefined {
  const stat = readProcStat(pid);
  return stat === undefined || hasEnded(stat) ? undefined : stat.startTime;
}

function startTimeByPs(pid: number): string | undefined {
  try {
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return started.trim() || undefined;
  } catch {
    return undefined;
  }
}
