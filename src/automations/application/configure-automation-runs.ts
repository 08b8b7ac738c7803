import { Injectable } from '@nestjs/common';
import type { SkillResolution } from '../../catalog/index.js';
import { actingPerson } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import {
  type ConfiguredRun,
  ConfigureRun,
  DEFAULT_AGENT,
  type NewRun,
  type OrderFields,
  type RunOrder,
} from '../../runs/index.js';
import type { Problem } from '../../kernel/errors/problem.js';
import type { LaunchableAutomation } from '../persistence/automation.repository.js';

/** What all runs of an automation have in common. */
export type RunTemplate = Pick<NewRun, 'title' | 'owner' | 'creatorUid' | 'executorUid' | 'config' | 'skill'>;

export type TemplateOutcome =
  { outcome: 'configured'; template: RunTemplate } | { outcome: 'refused'; problem: Problem };

const FIELDS: OrderFields = { agent: 'agent_uid', config: 'config', skill: 'config.skill_spec' };

/**
 * How the runs of an automation are configured at this moment. Its last editor is their creator, by whose rights the environment and
 * the skill are judged; the agent that it names, else the team's default agent, executes them; the team owns them.
 */
@Injectable()
export class ConfigureAutomationRuns {
  constructor(private readonly configureRun: ConfigureRun) {}

  /** @throws Problem 400 or 403 for what has to be put right in the automation, its agent or its environment */
  async execute(automation: LaunchableAutomation): Promise<RunTemplate> {
    return templateOf(automation, await this.configureRun.execute(orderOf(automation), FIELDS));
  }

  /**
   * The same for several with two queries, within a transaction.
   *
   * @param skills what the skill of each is, which was found out beforehand; undefined for one without a skill
   */
  async executeAll(
    tx: Tx,
    automations: { automation: LaunchableAutomation; skill: SkillResolution | undefined }[],
  ): Promise<TemplateOutcome[]> {
    const orders = automations.map(({ automation, skill }) => ({
      ...orderOf(automation),
      resolvedSkill: skill,
    }));
    const outcomes = await this.configureRun.executeAll(tx, orders, FIELDS);
    return automations.map(({ automation }, index): TemplateOutcome => {
      const configured = outcomes[index];
      if (configured === undefined) throw new Error('each order has one outcome');
      return configured.outcome === 'refused'
        ? configured
        : { outcome: 'configured', template: templateOf(automation, configured.run) };
    });
  }
}

const ownerOf = ({ teamUid }: LaunchableAutomation): NewRun['owner'] => ({ teamUid, ownerUid: null });

function orderOf(automation: LaunchableAutomation): RunOrder {
  const { teamUid, lastEditorUid, agentUid, config } = automation;
  return {
    caller: actingPerson({ uid: lastEditorUid, teamUid }),
    owner: ownerOf(automation),
    agent: agentUid ?? DEFAULT_AGENT,
    config: config ?? undefined,
  };
}

function templateOf(automation: LaunchableAutomation, { agent, config, skill }: ConfiguredRun): RunTemplate {
  return {
    title: automation.name,
    owner: ownerOf(automation),
    creatorUid: automation.lastEditorUid,
    executorUid: agent?.uid ?? automation.lastEditorUid,
    config,
    skill,
  };
}
