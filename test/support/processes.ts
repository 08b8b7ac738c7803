import { hasEnded, readProcStat } from '../../src/execution/worker/proc-stat.js';

/**
 * Whether a process does, or may still do, anything. One that has ended stays listed until its parent takes note; an orphan's is the
 * first process of the machine or container, and that one may take seconds or never do it.
 */
export function isAlive(pid: number): boolean {
  if (process.platform === 'linux') {
    const stat = readProcStat(pid);
    return stat !== undefined && !hasEnded(stat);
  }
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
