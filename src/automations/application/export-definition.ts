import { Injectable } from '@nestjs/common';
import { type AccountCaller, DefinedAgents } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { FactoryScorers } from '../../scores/index.js';
import { ApplyWebhooks, Factories } from '../../webhooks/index.js';
import { fileOf } from '../domain/agent-file.js';
import { scorerFileOf } from '../domain/scorer-file.js';
import { renderDefinition } from '../domain/render-definition.js';
import { AutomationRepository } from '../persistence/automation.repository.js';
import { FactoryAgentRepository } from '../persistence/factory-agent.repository.js';

/** Writes a factory down as the files that define it. Applied again they change nothing, once the team has every secret that they name. */
@Injectable()
export class ExportDefinition {
  constructor(
    private readonly factories: Factories,
    private readonly webhooks: ApplyWebhooks,
    private readonly automations: AutomationRepository,
    private readonly agents: DefinedAgents,
    private readonly factoryAgents: FactoryAgentRepository,
    private readonly scorers: FactoryScorers,
  ) {}

  /** @returns text by path. @throws Problem 404 when there is no such factory */
  async execute(tx: Tx, caller: AccountCaller, factoryUid: string): Promise<Record<string, string>> {
    const factory = await this.factories.find(tx, caller, factoryUid);
    // Held, so that it is one moment that all files are of.
    const mode = await this.factories.hold(tx, factoryUid);
    const agents = new Map((await this.agents.list(tx, factory.teamUid)).map((agent) => [agent.uid, agent]));
    const agentFiles = (await this.factoryAgents.list(tx, factoryUid)).flatMap(({ name, agentUid }) => {
      const agent = agents.get(agentUid);
      return agent === undefined || agent.disabled ? [] : [{ agentUid, file: fileOf(agent, name) }];
    });
    const nameOf = (uid: string): string =>
      agentFiles.find(({ agentUid }) => agentUid === uid)?.file.name ?? uid;
    return renderDefinition({
      factory: { name: factory.name, mode },
      webhooks: (await this.webhooks.present(tx, factoryUid)).map((webhook) => ({
        name: webhook.name,
        authMode: webhook.authMode,
        signatureScheme: webhook.signatureScheme ?? undefined,
        secretName: webhook.secretName,
        deliveryIdHeader: webhook.deliveryIdHeader ?? undefined,
        enabled: webhook.enabled,
      })),
      automations: (await this.automations.list(tx, factoryUid)).map((automation) => ({
        name: automation.name,
        enabled: automation.enabled,
        agent: automation.agentUid === null ? undefined : nameOf(automation.agentUid),
        triggers: automation.triggers,
        config: automation.config ?? undefined,
        prompt: automation.prompt,
      })),
      agents: agentFiles.map(({ file }) => file),
      scorers: (await this.scorers.list(tx, factoryUid)).map((scorer) =>
        scorerFileOf(scorer, scorer.agentUids.map(nameOf)),
      ),
    });
  }
}
