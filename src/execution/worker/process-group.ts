import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnded, readProcStat } from './proc-stat.js';

const POLL_MS = 10;

/** Kills every process of the group and waits until they are gone, for `limitMs` at most: false when some are left. */
export async function killGroup(groupId: number, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (signalGroup(groupId, 'SIGKILL')) {
    if (!(await hasLivingProcess(groupId))) return true;
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** False when the group is empty. Processes that have ended belong to it until their parent takes note. */
export function signalGroup(groupId: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-groupId, signal);
  } catch {
    return false;
  }
}

/**
 * Orphans that were killed wait for the first process of the machine or container to take note, and some take their time
 * or never do. Where that cannot be looked up (no /proc), every member counts as living.
 */
async function hasLivingProcess(groupId: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const entries = await readdir('/proc').catch(() => []);
  return entries
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => readProcStat(pid))
    .some((stat) => stat?.groupId === groupId && !hasEnded(stat));
}
