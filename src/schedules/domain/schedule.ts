import type { AgentConfig, RunMode } from '../../runs/index.js';

/** How late the latest tick may be made up for where nothing else is said. */
export const DEFAULT_CATCH_UP_MINUTES = 60;

/** What people set of a scheduled agent. */
export interface ScheduleSettings {
  name: string;
  cron: string;
  /** Of the IANA database. */
  timezone: string;
  /** How late a tick may be made up for after a downtime; 0 = never. */
  catchUpMinutes: number;
  enabled: boolean;
  /** May be empty where there is a skill. */
  prompt: string;
  mode: RunMode;
  /** The agent identity that executes its runs; null = the team's default agent, or the person who owns it. */
  agentUid: string | null;
  /** Undefined in a replacement: the stored one stays. */
  agentConfig: AgentConfig | undefined;
  metadata: Record<string, string>;
}

/** A scheduled agent as it is read. */
export interface Schedule extends ScheduleSettings {
  id: string;
  /** Set when a team owns it; otherwise `ownerUid` is. */
  teamUid: string | null;
  ownerUid: string | null;
  /** Its skill as `owner/repo:path/SKILL.md`. */
  skillSpec: string | null;
  createdBy: string;
  updatedBy: string;
  createdAt: Date;
  updatedAt: Date;
  /** When its last run was created. */
  lastRanAt: Date | null;
  /** Null while it is paused. */
  nextTickAt: Date | null;
  /** Why its last tick made no run. */
  lastError: string | null;
  /** What `@every` counts from. */
  anchor: Date;
}
