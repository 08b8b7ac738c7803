import { readFileSync } from 'node:fs';

/** What Linux tells of a process in proc_pid_stat(5). */
export interface ProcStat {
  /** One letter; Z and X are processes that have ended. */
  state: string;
  groupId: number;
  /** In clock ticks since the boot. */
  startTime: string;
}

/** Undefined when there is no such process, or no such file system. */
export function readProcStat(pid: number | string): ProcStat | undefined {
  try {
    return parseProcStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

export function parseProcStat(stat: string): ProcStat | undefined {
  // The second field is the program's name in brackets, and may itself hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): string | undefined => fields[number - 3];
  const state = field(3);
  const groupId = field(5);
  const startTime = field(22);
  if (state === undefined || groupId === undefined || startTime === undefined) return undefined;
  return { state, groupId: Number(groupId), startTime };
}

export function hasEnded({ state }: ProcStat): boolean {
  return state === 'Z' || state === 'X';
}
