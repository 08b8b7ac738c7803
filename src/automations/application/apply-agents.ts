import { Injectable } from '@nestjs/common';
import { DefinedAgents } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import type { Factory } from '../../webhooks/index.js';
import { fileOf, settingsOf } from '../domain/agent-file.js';
import type { AgentFile, DefinitionError, Located } from '../domain/definition.js';
import type { DefinitionStep } from '../domain/definition-plan.js';
import { isSame } from '../domain/is-same.js';
import { FactoryAgentRepository } from '../persistence/factory-agent.repository.js';

export interface AppliedAgents {
  plan: DefinitionStep[];
  errors: DefinitionError[];
  /** The agents of the definition, by the names of their files. */
  uids: ReadonlyMap<string, string>;
}

/** Makes the agent identities of a definition. One that is in it no more is disabled, and enabled when it comes back. */
@Injectable()
export class ApplyAgents {
  constructor(
    private readonly agents: DefinedAgents,
    private readonly factoryAgents: FactoryAgentRepository,
  ) {}

  /** Call it while the factory is held. */
  async execute(tx: Tx, factory: Factory, desired: Located<AgentFile>[]): Promise<AppliedAgents> {
    const { teamUid } = factory;
    const uids = new Map(
      (await this.factoryAgents.list(tx, factory.uid)).map(({ name, agentUid }) => [name, agentUid]),
    );
    const present = new Map((await this.agents.list(tx, teamUid)).map((agent) => [agent.uid, agent]));
    const plan: DefinitionStep[] = [];
    const errors: DefinitionError[] = [];
    for (const { value, error } of desired) {
      const { name } = value;
      const uid = uids.get(name);
      const before = uid === undefined ? undefined : present.get(uid);
      if (before === undefined) {
        const agentUid = await this.agents.create(tx, teamUid, settingsOf(value));
        if (agentUid === undefined) {
          errors.push(error([], 'is one too many: the team has as many agents as it may have'));
          continue;
        }
        await this.factoryAgents.insert(tx, factory.uid, { name, agentUid });
        uids.set(name, agentUid);
        plan.push({ action: 'create', kind: 'agent', name });
      } else if (before.disabled || !isSame(fileOf(before, before.name), value)) {
        await this.agents.update(tx, teamUid, before.uid, settingsOf(value));
        plan.push({ action: 'update', kind: 'agent', name });
      }
    }
    const wanted = new Set(desired.map(({ value }) => value.name));
    for (const [name, uid] of uids) {
      if (wanted.has(name)) continue;
      uids.delete(name);
      if (present.get(uid)?.disabled !== false) continue;
      await this.agents.disable(tx, teamUid, uid);
      plan.push({ action: 'disable', kind: 'agent', name });
    }
    return { plan, errors, uids };
  }
}
