import type { AgentConfig } from '../../runs/index.js';

/** Starts runs of an agent for what happens elsewhere. */
export interface Automation {
  uid: string;
  factoryUid: string;
  /** Unique in its factory, in whatever case. */
  name: string;
  enabled: boolean;
  /** The agent identity that its runs are executed as; null = the team's default agent. */
  agentUid: string | null;
  prompt: string;
  triggers: Trigger[];
  /** What its runs are configured with before what the agent identity says. */
  config: AgentConfig | null;
  createdAt: Date;
  updatedAt: Date;
}

/** What people set of an automation. */
export type AutomationSettings = Pick<
  Automation,
  'name' | 'enabled' | 'agentUid' | 'prompt' | 'triggers' | 'config'
>;

/** What starts a run. */
export type Trigger = WebhookTrigger | ScheduleTrigger;

/** A delivery to one of the webhooks that the filter, if there is one, matches. */
export interface WebhookTrigger {
  provider: 'webhook';
  event: 'received';
  filter: { webhook_ids: string[]; payload?: Record<string, unknown> };
}

/** A tick of a cron expression, in UTC. */
export interface ScheduleTrigger {
  provider: 'schedule';
  event: 'cron_fired';
  schedule: { cron: string; name?: string };
}

/** The webhooks that its triggers select, each once. */
export const webhooksOf = (triggers: Trigger[]): string[] => [
  ...new Set(
    triggers.flatMap((trigger) => (trigger.provider === 'webhook' ? trigger.filter.webhook_ids : [])),
  ),
];
