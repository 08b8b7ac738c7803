import type { AccountCaller, Ownership } from '../../identities/index.js';
import { DEFAULT_AGENT, type OrderFields, type RunOrder } from '../../runs/index.js';
import type { ScheduleSettings } from '../domain/schedule.js';

/** What the parts of an order are called in a schedule. */
export const SCHEDULE_FIELDS: OrderFields = {
  agent: 'agent_uid',
  config: 'agent_config',
  skill: 'agent_config.skill_spec',
};

/**
 * The order for a run of the schedule: executed by the agent that it names, else by the team's default agent; one that a person owns by
 * that person.
 *
 * @param caller whose rights count
 */
export const orderOf = (
  caller: AccountCaller,
  owner: Ownership,
  settings: Pick<ScheduleSettings, 'agentUid' | 'agentConfig'>,
): RunOrder => ({
  caller,
  owner,
  agent: settings.agentUid ?? (owner.teamUid === null ? undefined : DEFAULT_AGENT),
  config: settings.agentConfig,
});

/** Who owns what the schedule makes. */
export const ownerOf = (schedule: {
  teamUid: string | null;
  ownerUid: string | null;
  createdBy: string;
}): Ownership =>
  schedule.teamUid === null
    ? { teamUid: null, ownerUid: schedule.ownerUid ?? schedule.createdBy }
    : { teamUid: schedule.teamUid, ownerUid: null };
