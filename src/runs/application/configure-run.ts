import { Injectable } from '@nestjs/common';
import { Environments, ResolveSkill, type SkillResolution } from '../../catalog/index.js';
import {
  type AccountCaller,
  AgentIdentities,
  type ExecutingAgent,
  type Ownership,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database, type Queryable } from '../../kernel/persistence/database.js';
import { type AgentConfig, resolveAgentConfig, workerHostOf } from '../domain/agent-config.js';
import type { AgentSkill } from '../domain/agent-skill.js';
import { ModelChoice } from './model-choice.js';

/** What decides how a run is configured, whoever starts it: a request, a schedule or an automation. */
export interface RunOrder {
  /** Whose rights count: the environment and the skill are those that they can reach. */
  caller: AccountCaller;
  owner: Ownership;
  /** The agent identity to execute it as, `default` for the team's own; undefined = the caller executes it. */
  agent?: string;
  /** The most specific configuration. */
  config?: AgentConfig;
  /** Beats `config.skill_spec`. */
  skill?: string;
  /** What the skill is, where that was found out beforehand: no repository is read then. */
  resolvedSkill?: SkillResolution;
}

/** How the run is configured, every field resolved, the instructions of the skill within it. */
export interface ConfiguredRun {
  agent: ExecutingAgent | undefined;
  config: AgentConfig;
  skill: AgentSkill | undefined;
}

/** What the parts of an order are called where it comes from, for the errors that name them. */
export interface OrderFields {
  agent: string;
  config: string;
  skill: string;
}

export type ConfigureRunOutcome =
  { outcome: 'configured'; run: ConfiguredRun } | { outcome: 'refused'; problem: Problem };

/** What an order was found to name. */
interface Findings {
  agent: ExecutingAgent | undefined;
  config: AgentConfig;
  /** Whether the caller may use the environment of the configuration; true where there is none. */
  mayUseEnvironment: boolean;
}

/** Resolves the configuration of a run field by field and judges it: the order's, the agent identity's, the system's own. */
@Injectable()
export class ConfigureRun {
  constructor(
    private readonly agents: AgentIdentities,
    private readonly environments: Environments,
    private readonly models: ModelChoice,
    private readonly resolveSkill: ResolveSkill,
    private readonly database: Database,
  ) {}

  /** @throws Problem 400 naming the field, 403 for an agent identity that is not available */
  async execute(order: RunOrder, fields: OrderFields): Promise<ConfiguredRun> {
    const [configured] = await this.executeAll(this.database, [order], fields);
    if (configured === undefined) throw new Error('one order has one outcome');
    if (configured.outcome === 'refused') throw configured.problem;
    return configured.run;
  }

  /**
   * Two queries, however many they are. Within a transaction the skills of orders that have any are resolved beforehand.
   *
   * @returns in the order of the orders; what is refused of one does not touch the others
   */
  async executeAll(
    database: Queryable,
    orders: RunOrder[],
    fields: OrderFields,
  ): Promise<ConfigureRunOutcome[]> {
    const findings = await this.look(database, orders);
    return Promise.all(
      orders.map(async (order, index): Promise<ConfigureRunOutcome> => {
        try {
          return { outcome: 'configured', run: await this.judge(order, fields, findings[index]) };
        } catch (error) {
          if (error instanceof Problem) return { outcome: 'refused', problem: error };
          throw error;
        }
      }),
    );
  }

  private async look(database: Queryable, orders: RunOrder[]): Promise<Findings[]> {
    const agents = await this.agents.findAll(
      database,
      orders.map(({ agent, owner }) =>
        agent === undefined || owner.teamUid === null
          ? undefined
          : { teamUid: owner.teamUid, agentUid: agent === DEFAULT_AGENT ? undefined : agent },
      ),
    );
    const configured = orders.map(({ caller, config }, index) => {
      const agent = agents[index];
      return {
        caller,
        agent,
        config: this.models.withDefaults(resolveAgentConfig([config, agent && agentConfigOf(agent)])),
      };
    });
    const usable = await this.environments.areUsable(
      database,
      configured.map(({ caller, config }) => ({ caller, uid: config.environment_id })),
    );
    return configured.map(({ agent, config }, index) => ({
      agent,
      config,
      mayUseEnvironment: config.environment_id === undefined || usable[index] === true,
    }));
  }

  private async judge(
    order: RunOrder,
    fields: OrderFields,
    findings: Findings | undefined,
  ): Promise<ConfiguredRun> {
    if (findings === undefined) throw new Error('each order has its findings');
    const { agent, config, mayUseEnvironment } = findings;
    checkAgent(order, agent, fields.agent);
    if (order.owner.teamUid === null && workerHostOf(config) !== null) {
      throw invalid(
        `${fields.config}.worker_host`,
        'takes a run that the team owns: self-hosted workers serve their team',
      );
    }
    if (!mayUseEnvironment) {
      throw invalid(`${fields.config}.environment_id`, 'must be an environment that you can use');
    }
    this.models.check(config, `${fields.config}.`);
    const spec = order.skill ?? config.skill_spec;
    if (spec === undefined) return { agent, config, skill: undefined };
    const resolved =
      order.resolvedSkill ?? (await this.resolveSkill.execute(order.caller, spec, config.environment_id));
    const skill = skillOf(resolved, fields.skill);
    const base_prompt = [config.base_prompt, skill.body].filter(Boolean).join('\n\n');
    const { name, description, fullPath: full_path } = skill;
    return {
      agent,
      config: { ...config, skill_spec: skill.spec, base_prompt },
      skill: { name, description, full_path },
    };
  }
}

/** The agent of {@link RunOrder} that every team has. */
export const DEFAULT_AGENT = 'default';

function checkAgent(order: RunOrder, agent: ExecutingAgent | undefined, field: string): void {
  if (order.agent === undefined) return;
  if (order.owner.teamUid === null) {
    throw invalid(field, 'takes a run that the team owns: agent identities work for their team');
  }
  if (agent === undefined) throw invalid(field, 'must be an agent identity of the team');
  if (!agent.available) {
    throw new Problem('feature_not_available', {
      detail: 'The agent identity is disabled, or beyond the plan limit of the team',
    });
  }
}

function skillOf(resolved: SkillResolution, field: string): SkillResolution & { outcome: 'found' } {
  switch (resolved.outcome) {
    case 'found':
      return resolved;
    case 'ambiguous':
      throw invalid(field, `names several skills; choose one of ${resolved.candidates.join(', ')}`);
    case 'not_found':
      throw invalid(
        field,
        resolved.candidates.length === 0
          ? 'names no skill of a repository that you can reach'
          : `names no skill; did you mean ${resolved.candidates.join(', ')}?`,
      );
    case 'malformed':
      throw invalid(field, `is malformed: ${resolved.error}`);
    case 'unreachable':
      throw invalid(field, `is in a repository that cannot be reached: ${resolved.repo}`);
  }
}

/** What an agent identity brings to the runs that are executed as it. */
function agentConfigOf(agent: ExecutingAgent): AgentConfig {
  return {
    model_id: agent.baseModel,
    base_prompt: agent.prompt,
    environment_id: agent.environmentId,
    skills: agent.skills.length === 0 ? undefined : agent.skills,
    mcp_servers: agent.mcpServers,
    worker_host: agent.workerHost,
    harness: agent.harness,
    harness_auth_secrets: agent.harnessAuthSecrets,
    inference_providers: agent.inferenceProviders,
    credential_strategy: agent.credentialStrategy,
  };
}

const invalid = (field: string, message: string): Problem => Problem.invalid([{ field, message }]);
