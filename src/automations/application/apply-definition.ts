import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { ApplyWebhooks, type DesiredWebhook, Factories } from '../../webhooks/index.js';
import type { Definition, DefinitionError, WebhookFile } from '../domain/definition.js';
import type { DefinitionOutcome, DefinitionStep } from '../domain/definition-plan.js';
import { ApplyAgents } from './apply-agents.js';
import { ApplyAutomations } from './apply-automations.js';
import { ApplyScorers } from './apply-scorers.js';

/**
 * Makes a factory what its definition says: all of it, so that what the definition has not is deleted, and agents are disabled. It is
 * how a factory that a repository defines is changed; it works for a managed one, too. Edits of the factory wait meanwhile.
 */
@Injectable()
export class ApplyDefinition {
  constructor(
    private readonly factories: Factories,
    private readonly applyAgents: ApplyAgents,
    private readonly applyWebhooks: ApplyWebhooks,
    private readonly applyAutomations: ApplyAutomations,
    private readonly applyScorers: ApplyScorers,
  ) {}

  /**
   * Undo the transaction when the outcome is `refused`: it has gone on to find all that is wrong.
   *
   * @throws Problem 404 when there is no such factory
   */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    factoryUid: string,
    definition: Definition,
  ): Promise<DefinitionOutcome> {
    const factory = await this.factories.find(tx, caller, factoryUid);
    const presentMode = await this.factories.hold(tx, factoryUid);
    const { name, mode = presentMode } = definition.factory.value;
    const plan: DefinitionStep[] = [];
    const errors: DefinitionError[] = [];
    if (name !== undefined && name.toLowerCase() !== factory.name.toLowerCase()) {
      errors.push(
        definition.factory.error(['name'], `is not the name of this factory, which is ${factory.name}`),
      );
    }
    if (mode !== presentMode) {
      await this.factories.setMode(tx, factory, mode);
      plan.push({ action: 'update', kind: 'factory', name: factory.name });
    }
    const agents = await this.applyAgents.execute(tx, factory, definition.agents);
    plan.push(...agents.plan);
    const webhooks = await this.applyWebhooks.execute(
      tx,
      factory,
      definition.webhooks.map(({ value }) => desired(value)),
    );
    for (const step of webhooks) {
      if (step.action !== 'refuse') plan.push({ action: step.action, kind: 'webhook', name: step.name });
      else errors.push(...refusedBy(definition, step.name, step.error));
    }
    const automations = await this.applyAutomations.execute(
      tx,
      factory,
      definition.automations,
      agents.uids,
      caller.uid,
    );
    const scorers = await this.applyScorers.execute(tx, factory, definition.scorers, agents.uids);
    errors.push(...agents.errors, ...automations.errors, ...scorers.errors);
    return errors.length > 0
      ? { outcome: 'refused', errors }
      : {
          outcome: 'applied',
          plan: [...plan, ...automations.plan, ...scorers.plan],
          warnings: automations.warnings,
        };
  }
}

const desired = (file: WebhookFile): DesiredWebhook => ({
  name: file.name,
  authMode: file.authMode,
  signatureScheme: file.signatureScheme ?? null,
  secretName: file.secretName,
  deliveryIdHeader: file.deliveryIdHeader ?? null,
  enabled: file.enabled,
});

const refusedBy = (
  { webhooks }: Definition,
  name: string,
  { field, message }: { field: string; message: string },
): DefinitionError[] =>
  webhooks
    .filter(({ value }) => value.name === name)
    .map(({ error }) => error(field === '' ? [] : [field], message));
