import { Injectable } from '@nestjs/common';
import { Environments, ResolveSkill } from '../../catalog/index.js';
import {
  type AccountCaller,
  AgentIdentities,
  type ExecutingAgent,
  type Ownership,
  type Caller,
  ownershipFor,
  People,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database } from '../../kernel/persistence/database.js';
import {
  type AgentConfig,
  BUILT_IN_HARNESS,
  resolveAgentConfig,
  workerHostOf,
} from '../domain/agent-config.js';
import { TRANSCRIPT_FORMATS_BY_HARNESS } from '../domain/conversation.js';
import { ConversationRepository } from '../persistence/conversation.repository.js';
import { complaintAbout } from '../domain/metadata.js';
import type { RunMode } from '../domain/run-mode.js';
import type { RunSource } from '../domain/run-source.js';
import { RunReadModel, type RunVisibility } from '../persistence/run.read-model.js';
import { type ParentRun, RunRepository } from '../persistence/run.repository.js';
import type { NewRun } from './create-run.js';
import { ModelChoice } from './model-choice.js';
import { runVisibility } from './run-visibility.js';

/** A run as a caller asks for it. */
export interface RunRequest {
  prompt?: string;
  skill?: string;
  config?: AgentConfig;
  /** The conversation that the run continues. */
  conversationId?: string;
  title?: string;
  team?: boolean;
  agentIdentityUid?: string;
  /** Uid or e-mail address of the person for whom an agent identity starts the run. */
  onBehalfOf?: string;
  metadata?: Record<string, string>;
  /** A run that the caller can see; for a run's own agent its run, which it need not name. */
  parentRunId?: string;
  mode?: RunMode;
  interactive?: boolean;
  source: RunSource;
}

/**
 * Makes of a request what is to be created: who owns, creates and executes the run, and its configuration, every field resolved.
 * It reads the database and, for a skill, a repository, so it runs before the transaction that creates.
 */
@Injectable()
export class PrepareRun {
  constructor(
    private readonly agents: AgentIdentities,
    private readonly people: People,
    private readonly environments: Environments,
    private readonly models: ModelChoice,
    private readonly resolveSkill: ResolveSkill,
    private readonly conversations: ConversationRepository,
    private readonly runs: RunRepository,
    private readonly runReads: RunReadModel,
    private readonly database: Database,
  ) {}

  /** @throws Problem 400 naming the field, 403 for an agent that is not available or a delegation that is not allowed */
  async execute(caller: Caller, request: RunRequest): Promise<NewRun> {
    const parent = await this.parentFor(caller, request.parentRunId);
    if (caller.kind !== 'run')
      return this.prepare(caller, request, ownershipFor(caller, request.team), parent);
    if (parent === undefined) throw Problem.notFound('run');
    if (request.team !== undefined && request.team !== (parent.teamUid !== null)) {
      throw invalid('team', 'must be left out: the child of a run has its scope');
    }
    if (request.onBehalfOf !== undefined) {
      throw new Problem('not_authorized', { detail: 'on_behalf_of: the child of a run has its creator' });
    }
    const run = await this.prepare(
      await this.executorOf(parent, caller.keyUid),
      { ...request, source: 'ORCHESTRATION' },
      ownerOf(parent),
      parent,
      runVisibility(caller),
    );
    return { ...run, creatorUid: parent.creatorUid };
  }

  private async prepare(
    caller: AccountCaller,
    request: RunRequest,
    owner: Ownership,
    parent: ParentRun | undefined,
    visibility = runVisibility(caller),
  ): Promise<NewRun> {
    const metadata = { ...parent?.metadata, ...request.metadata };
    const complaint = complaintAbout(metadata);
    if (complaint !== undefined)
      throw invalid('metadata', `with what the parent run hands down ${complaint}`);
    const agent = await this.agentFor(caller, request.agentIdentityUid, owner);
    const config = this.models.withDefaults(
      resolveAgentConfig([request.config, agent && agentConfigOf(agent)]),
    );
    if (owner.teamUid === null && workerHostOf(config) !== null) {
      throw invalid(
        'config.worker_host',
        'takes a run that the team owns: self-hosted workers serve their team',
      );
    }
    await this.checkEnvironment(caller, config);
    this.models.check(config, 'config.');
    const skill = await this.applySkill(caller, request.skill ?? config.skill_spec, config);
    await this.checkConversation(visibility, request.conversationId, config);
    if (!request.prompt && skill === undefined && request.conversationId === undefined)
      throw invalid('prompt', 'is required unless a skill or conversation_id is given');
    return {
      prompt: request.prompt ?? '',
      conversationId: request.conversationId,
      title: request.title ?? (request.prompt ? undefined : skill?.name),
      owner,
      creatorUid: await this.creatorFor(caller, request.onBehalfOf),
      executorUid: agent?.uid ?? caller.uid,
      source: request.source,
      config,
      metadata,
      mode: request.mode,
      interactive: request.interactive,
      parentRunId: parent?.id,
      ancestorIds: parent && [parent.id, ...parent.ancestorIds],
    };
  }

  /** @throws Problem 400 for a run that the caller may not know of, and for one that is too deep to have children */
  private async parentFor(caller: Caller, parentRunId: string | undefined): Promise<ParentRun | undefined> {
    const wanted = parentRunId?.toLowerCase() ?? (caller.kind === 'run' ? caller.runId : undefined);
    if (wanted === undefined) return undefined;
    const isVisible = await this.runReads.exists(wanted, runVisibility(caller));
    const parent = isVisible ? await this.runs.parent(this.database, wanted) : undefined;
    if (parent === undefined) throw invalid('parent_run_id', 'must be a run that you can see');
    if (parent.ancestorIds.length >= MAX_ANCESTORS) {
      throw invalid('parent_run_id', `must have fewer than ${String(MAX_ANCESTORS)} ancestors of its own`);
    }
    return parent;
  }

  /** Whoever the parent is executed as, with the rights of a member at most. */
  private async executorOf(parent: ParentRun, keyUid: string): Promise<AccountCaller> {
    const { teamUid, executorUid: uid } = parent;
    const agent = teamUid === null ? undefined : await this.agents.find(this.database, teamUid, uid);
    if (teamUid !== null && agent !== undefined) {
      return {
        kind: 'agent',
        keyUid,
        uid,
        displayName: '',
        team: { uid: teamUid },
        onBehalfOfEnabled: false,
      };
    }
    return {
      kind: 'user',
      keyUid,
      uid,
      displayName: '',
      team: teamUid === null ? undefined : { uid: teamUid, role: 'member', manageFactory: false },
      teamCount: teamUid === null ? 0 : 1,
      operator: false,
    };
  }

  /** The identity that the run is executed as; undefined: as the person who starts it. */
  private async agentFor(
    caller: AccountCaller,
    uid: string | undefined,
    owner: Ownership,
  ): Promise<ExecutingAgent | undefined> {
    const wanted = uid ?? (caller.kind === 'agent' ? caller.uid : undefined);
    if (wanted === undefined) return undefined;
    if (owner.teamUid === null) {
      throw invalid(
        'agent_identity_uid',
        'takes a run that the team owns: agent identities work for their team',
      );
    }
    const agent = await this.agents.find(this.database, owner.teamUid, wanted);
    if (agent === undefined) throw invalid('agent_identity_uid', 'must be an agent identity of the team');
    if (!agent.available) {
      throw new Problem('feature_not_available', {
        detail: 'The agent identity is beyond the plan limit of the team',
      });
    }
    return agent;
  }

  /** An agent identity may start a run for a person, who is then its creator; the agent remains its executor. */
  private async creatorFor(caller: AccountCaller, onBehalfOf: string | undefined): Promise<string> {
    if (onBehalfOf === undefined) return caller.uid;
    if (caller.kind === 'user') {
      if (onBehalfOf === caller.uid || onBehalfOf === caller.email) return caller.uid;
      throw new Problem('not_authorized', { detail: 'on_behalf_of: people start runs for themselves' });
    }
    if (!caller.onBehalfOfEnabled) {
      throw new Problem('not_authorized', { detail: 'on_behalf_of is not enabled for this agent identity' });
    }
    const person = await this.people.findMember(caller.team.uid, onBehalfOf);
    if (person === undefined) {
      throw invalid('on_behalf_of', 'must be the uid or e-mail address of a member of the team');
    }
    return person.userUid;
  }

  private async checkConversation(
    visibility: RunVisibility,
    id: string | undefined,
    config: AgentConfig,
  ): Promise<void> {
    if (id === undefined) return;
    const conversation = await this.conversations.findVisible(this.database, id, visibility);
    if (conversation === undefined) {
      throw invalid('conversation_id', 'must be the conversation of a run that you can read');
    }
    if (conversation.format !== TRANSCRIPT_FORMATS_BY_HARNESS[config.harness?.type ?? BUILT_IN_HARNESS]) {
      throw invalid('config.harness.type', 'must be the harness that the conversation began with');
    }
  }

  private async checkEnvironment(caller: AccountCaller, config: AgentConfig): Promise<void> {
    const uid = config.environment_id;
    if (uid === undefined) return;
    if ((await this.environments.usable(this.database, caller, uid)) === undefined) {
      throw invalid('config.environment_id', 'must be an environment that you can use');
    }
  }

  /** Resolves the skill and puts its instructions into the base prompt. */
  private async applySkill(
    caller: AccountCaller,
    skill: string | undefined,
    config: AgentConfig,
  ): Promise<{ name: string } | undefined> {
    if (skill === undefined) return undefined;
    const resolved = await this.resolveSkill.execute(caller, skill, config.environment_id);
    switch (resolved.outcome) {
      case 'found':
        config.skill_spec = resolved.spec;
        config.base_prompt = [config.base_prompt, resolved.body].filter(Boolean).join('\n\n');
        return resolved;
      case 'ambiguous':
        throw invalid('skill', `names several skills; choose one of ${resolved.candidates.join(', ')}`);
      case 'not_found':
        throw invalid(
          'skill',
          resolved.candidates.length === 0
            ? 'names no skill of a repository that you can reach'
            : `names no skill; did you mean ${resolved.candidates.join(', ')}?`,
        );
      case 'malformed':
        throw invalid('skill', `is malformed: ${resolved.error}`);
      case 'unreachable':
        throw invalid('skill', `is in a repository that cannot be reached: ${resolved.repo}`);
    }
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

const ownerOf = ({ teamUid, ownerUid, creatorUid }: ParentRun): Ownership =>
  teamUid === null ? { teamUid, ownerUid: ownerUid ?? creatorUid } : { teamUid, ownerUid: null };

/** Of a run: how deep children of children may go. */
const MAX_ANCESTORS = 8;

const invalid = (field: string, message: string): Problem => Problem.invalid([{ field, message }]);
