import type { AgentConfig } from './agent-config.js';
import type { AgentSkill } from './agent-skill.js';
import type { RunMode } from './run-mode.js';
import type { RunSource } from './run-source.js';
import type { RunState } from './run-state.js';
import type { StatusMessage } from './status-message.js';

/** A run as it is read: the columns of the list and the detail. */
export interface RunView {
  id: string;
  title: string;
  state: RunState;
  prompt: string;
  agent_config: AgentConfig;
  agent_skill: AgentSkill | null;
  status_message: StatusMessage | null;
  team_uid: string | null;
  owner_uid: string | null;
  creator_uid: string;
  executor_uid: string;
  source: RunSource;
  worker_host: string | null;
  conversation_id: string | null;
  metadata: Record<string, string>;
  mode: RunMode;
  interactive: boolean;
  parent_run_id: string | null;
  schedule_id: string | null;
  /** As it was when the run was created, like the expression. */
  schedule_name: string | null;
  cron_schedule: string | null;
  created_at: Date;
  updated_at: Date;
  started_at: Date | null;
  /** Seconds that its executions have run, up to now; null before the first one. */
  run_seconds: number | null;
  /** An execution of it is alive on a worker. */
  sandbox_running: boolean;
  /** Until when the session of its failed set-up can be spoken to; null when there is none. */
  debug_until: Date | null;
  /** An agent in that session has been given a message. */
  debug_agent_active: boolean;
  /** How far its agent has read the events that it follows. */
  last_event_sequence: string | null;
  /** The runs that it is the parent of, as far as the caller may know of them; absent in lists. */
  children?: string[];
  /** What its executions have used of models; null where no agent has said. */
  total_tokens: number | null;
  inference_cost_usd: number | null;
}

/** An entry of a timeline as it is read. */
export interface TimelineEventView {
  event_uuid: string;
  run_id: string;
  execution_id: string | null;
  event_type: string;
  occurred_at: Date;
  payload: Record<string, unknown> | null;
}
