import { Injectable } from '@nestjs/common';
import { Environments, Models, ResolveSkill, type SkillResolution } from '../../catalog/index.js';
import {
  type AccountCaller,
  AgentIdentities,
  type ExecutingAgent,
  type Ownership,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database, type Queryable } from '../../kernel/persistence/database.js';
import {
  type AgentConfig,
  BUILT_IN_HARNESS,
  resolveAgentConfig,
  workerHostOf,
} from '../domain/agent-config.js';

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
}

/** How the run is configured, every field resolved, the instructions of the skill within it. */
export interface ConfiguredRun {
  agent: ExecutingAgent | undefined;
  config: AgentConfig;
  skill: { spec: string; name: string } | undefined;
}

/** What the parts of an order are called where it comes from, for the errors that name them. */
export interface OrderFields {
  agent: string;
  config: string;
  skill: string;
}

/** Where an order looks things up; each thing once, however many orders share it. */
export interface RunLookups {
  agent(teamUid: string, agentUid: string | undefined): Promise<ExecutingAgent | undefined>;
  canUse(caller: AccountCaller, environmentUid: string): Promise<boolean>;
  skill(caller: AccountCaller, spec: string, environmentUid: string | undefined): Promise<SkillResolution>;
}

/** Resolves the configuration of a run field by field and judges it: the order's, the agent identity's, the system's own. */
@Injectable()
export class ConfigureRun {
  constructor(
    private readonly agents: AgentIdentities,
    private readonly environments: Environments,
    private readonly models: Models,
    private readonly resolveSkill: ResolveSkill,
    private readonly database: Database,
  ) {}

  /**
   * Lookups that remember what they found. Whoever holds a transaction open gives it, and replaces `skill`, which may read a
   * repository.
   */
  lookups(database: Queryable = this.database): RunLookups {
    return {
      agent: remembering((teamUid, agentUid) => this.agents.find(database, teamUid, agentUid)),
      canUse: remembering(
        async (caller, uid) => (await this.environments.usable(database, caller, uid)) !== undefined,
        (caller, uid) => [caller.uid, caller.team?.uid, uid],
      ),
      skill: (caller, spec, environmentUid) => this.resolveSkill.execute(caller, spec, environmentUid),
    };
  }

  /** @throws Problem 400 naming the field, 403 for an agent identity that is not available */
  async execute(order: RunOrder, fields: OrderFields, lookups = this.lookups()): Promise<ConfiguredRun> {
    const agent = await this.agentOf(order, fields, lookups);
    const config = this.withDefaults(resolveAgentConfig([order.config, agent && agentConfigOf(agent)]));
    if (order.owner.teamUid === null && workerHostOf(config) !== null) {
      throw invalid(
        `${fields.config}.worker_host`,
        'takes a run that the team owns: self-hosted workers serve their team',
      );
    }
    const environmentUid = config.environment_id;
    if (environmentUid !== undefined && !(await lookups.canUse(order.caller, environmentUid))) {
      throw invalid(`${fields.config}.environment_id`, 'must be an environment that you can use');
    }
    this.checkModel(config, fields.config);
    const spec = order.skill ?? config.skill_spec;
    if (spec === undefined) return { agent, config, skill: undefined };
    const skill = skillOf(await lookups.skill(order.caller, spec, environmentUid), fields.skill);
    const base_prompt = [config.base_prompt, skill.body].filter(Boolean).join('\n\n');
    return { agent, config: { ...config, skill_spec: skill.spec, base_prompt }, skill };
  }

  /** The identity that the run is executed as; undefined: as the caller. */
  private async agentOf(
    { agent: wanted, owner }: RunOrder,
    fields: OrderFields,
    lookups: RunLookups,
  ): Promise<ExecutingAgent | undefined> {
    if (wanted === undefined) return undefined;
    if (owner.teamUid === null) {
      throw invalid(fields.agent, 'takes a run that the team owns: agent identities work for their team');
    }
    const agent = await lookups.agent(owner.teamUid, wanted === DEFAULT_AGENT ? undefined : wanted);
    if (agent === undefined) throw invalid(fields.agent, 'must be an agent identity of the team');
    if (!agent.available) {
      throw new Problem('feature_not_available', {
        detail: 'The agent identity is beyond the plan limit of the team',
      });
    }
    return agent;
  }

  /** The system's own defaults: the built-in harness, and for it the catalogue's default model. */
  private withDefaults(config: AgentConfig): AgentConfig {
    const harness = config.harness ?? { type: BUILT_IN_HARNESS };
    const isBuiltIn = (harness.type ?? BUILT_IN_HARNESS) === BUILT_IN_HARNESS;
    const modelId =
      config.model_id ?? harness.model_id ?? (isBuiltIn ? this.models.defaultModelId : undefined);
    return { ...config, harness, ...(modelId === undefined ? {} : { model_id: modelId }) };
  }

  private checkModel(config: AgentConfig, parent: string): void {
    const field =
      config.harness?.model_id === undefined ? `${parent}.model_id` : `${parent}.harness.model_id`;
    const model = config.harness?.model_id ?? config.model_id;
    const harness = config.harness?.type ?? BUILT_IN_HARNESS;
    if (model === undefined) return;
    const check = this.models.check(model);
    switch (check.outcome) {
      case 'ok':
        if (check.harnesses.includes(harness)) return;
        throw invalid(field, `names a model that the harness ${harness} cannot run: ${model}`);
      case 'unknown':
        throw invalid(field, `must be one of the models of GET /v1/agent/models, not ${model}`);
      case 'disabled':
        throw invalid(field, `names a model that is disabled (${check.reason}): ${model}`);
    }
  }
}

/** The agent of {@link RunOrder} that every team has. */
export const DEFAULT_AGENT = 'default';

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

/** Asks once for arguments of one key. */
function remembering<Arguments extends unknown[], Result>(
  find: (...given: Arguments) => Promise<Result>,
  keyOf: (...given: Arguments) => unknown[] = (...given) => given,
): (...given: Arguments) => Promise<Result> {
  const found = new Map<string, Promise<Result>>();
  return (...given) => {
    const key = JSON.stringify(keyOf(...given));
    const known = found.get(key) ?? find(...given);
    found.set(key, known);
    return known;
  };
}

const invalid = (field: string, message: string): Problem => Problem.invalid([{ field, message }]);
