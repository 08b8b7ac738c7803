import { Injectable } from '@nestjs/common';
import { actingPerson } from '../../identities/index.js';
import { Database, type Queryable } from '../../kernel/persistence/database.js';
import {
  ConfigureRun,
  DEFAULT_AGENT,
  type NewRun,
  type OrderFields,
  type RunLookups,
} from '../../runs/index.js';
import type { LaunchableAutomation } from '../persistence/automation.repository.js';

/** What all runs of an automation have in common. */
export type RunTemplate = Pick<NewRun, 'title' | 'owner' | 'creatorUid' | 'executorUid' | 'config'>;

const FIELDS: OrderFields = { agent: 'agent_uid', config: 'config', skill: 'config.skill_spec' };

/**
 * How the runs of an automation are configured at this moment. Its last editor is their creator, by whose rights the environment and
 * the skill are judged; the agent that it names, else the team's default agent, executes them; the team owns them.
 */
@Injectable()
export class ConfigureAutomationRuns {
  constructor(
    private readonly configureRun: ConfigureRun,
    private readonly database: Database,
  ) {}

  /** Looks up each thing once, for runs that are configured together. */
  lookups(database: Queryable = this.database): RunLookups {
    return this.configureRun.lookups(database);
  }

  /** @throws Problem 400 or 403 for what has to be put right in the automation, its agent or its environment */
  async execute(automation: LaunchableAutomation, lookups: RunLookups): Promise<RunTemplate> {
    const { teamUid, lastEditorUid, agentUid, config, name } = automation;
    const caller = actingPerson({ uid: lastEditorUid, teamUid });
    const owner = { teamUid, ownerUid: null };
    const order = { caller, owner, agent: agentUid ?? DEFAULT_AGENT, config: config ?? undefined };
    const configured = await this.configureRun.execute(order, FIELDS, lookups);
    return {
      title: name,
      owner,
      creatorUid: lastEditorUid,
      executorUid: configured.agent?.uid ?? lastEditorUid,
      config: configured.config,
    };
  }
}
