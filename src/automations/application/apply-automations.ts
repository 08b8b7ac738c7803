import { Injectable } from '@nestjs/common';
import { AgentIdentities } from '../../identities/index.js';
import { isUuid } from '../../kernel/ids.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { type Factory, type FactoryWebhook, FactoryWebhooks } from '../../webhooks/index.js';
import type { Automation, AutomationSettings } from '../domain/automation.js';
import type { AutomationFile, DefinitionError, Located } from '../domain/definition.js';
import type { DefinitionStep } from '../domain/definition-plan.js';
import { asInFile } from '../domain/file-prompt.js';
import { isSame } from '../domain/is-same.js';
import { AutomationRepository } from '../persistence/automation.repository.js';
import { AutomationSchedules } from './automation-schedules.js';

export interface AppliedAutomations {
  plan: DefinitionStep[];
  errors: DefinitionError[];
  warnings: DefinitionError[];
}

/** Makes the automations of a factory those of its definition; what it has not is deleted. */
@Injectable()
export class ApplyAutomations {
  constructor(
    private readonly automations: AutomationRepository,
    private readonly schedules: AutomationSchedules,
    private readonly agents: AgentIdentities,
    private readonly webhooks: FactoryWebhooks,
  ) {}

  /**
   * Call it while the factory is held, and after its webhooks were applied.
   *
   * @param agentUids of the definition's own agents, by name
   * @param editorUid in whose name the runs of what changes are created from now on
   */
  async execute(
    tx: Tx,
    factory: Factory,
    desired: Located<AutomationFile>[],
    agentUids: ReadonlyMap<string, string>,
    editorUid: string,
  ): Promise<AppliedAutomations> {
    const applied: AppliedAutomations = { plan: [], errors: [], warnings: [] };
    const present = new Map(
      (await this.automations.list(tx, factory.uid)).map((each) => [keyOf(each.name), each]),
    );
    const wanted = new Set(desired.map(({ value }) => keyOf(value.name)));
    for (const [key, { uid, name }] of present) {
      if (wanted.has(key)) continue;
      await this.schedules.remove(tx, uid);
      await this.automations.delete(tx, { uid, factoryUid: factory.uid });
      applied.plan.push({ action: 'delete', kind: 'automation', name });
    }
    const webhooks = new Map(
      (await this.webhooks.ofFactory(tx, factory.uid)).map((each) => [each.uid, each]),
    );
    for (const file of desired) {
      const settings = await this.settingsOf(tx, factory, file, agentUids);
      const errors = [...settings.errors, ...this.complaintsAbout(file, webhooks)];
      applied.errors.push(...errors);
      applied.warnings.push(...warningsOf(file, webhooks));
      if (errors.length > 0) continue;
      const step = await this.applyOne(
        tx,
        factory,
        settings.value,
        present.get(keyOf(file.value.name)),
        editorUid,
      );
      if (step !== undefined) applied.plan.push(step);
    }
    return applied;
  }

  private async applyOne(
    tx: Tx,
    factory: Factory,
    settings: AutomationSettings,
    before: Automation | undefined,
    editorUid: string,
  ): Promise<DefinitionStep | undefined> {
    if (before !== undefined && isSame(settingsIn(before), settings)) return undefined;
    const automation =
      before === undefined
        ? await this.automations.insert(tx, factory.uid, settings, editorUid)
        : await this.automations.replace(tx, before, settings, editorUid);
    if (typeof automation === 'string')
      throw new Error(`a definition cannot have this outcome: ${automation}`);
    await this.schedules.keep(tx, automation);
    const { name } = settings;
    return { action: before === undefined ? 'create' : 'update', kind: 'automation', name };
  }

  private async settingsOf(
    tx: Tx,
    { teamUid }: Factory,
    { value, error }: Located<AutomationFile>,
    agentUids: ReadonlyMap<string, string>,
  ): Promise<{ value: AutomationSettings; errors: DefinitionError[] }> {
    const { agent, config, ...settings } = value;
    let agentUid: string | null = null;
    const errors: DefinitionError[] = [];
    if (agent !== undefined) {
      agentUid = agentUids.get(agent) ?? (isUuid(agent) ? agent.toLowerCase() : null);
      if (agentUid === null || (await this.agents.find(tx, teamUid, agentUid)) === undefined) {
        errors.push(
          error(['agent'], 'must be the name of an agent below agents/, or the uid of an agent of the team'),
        );
      }
    }
    return { value: { ...settings, agentUid, config: config ?? null }, errors };
  }

  private complaintsAbout(
    { value, error }: Located<AutomationFile>,
    webhooks: ReadonlyMap<string, FactoryWebhook>,
  ): DefinitionError[] {
    const complaints: DefinitionError[] = [];
    if (value.prompt === '' && value.config?.skill_spec === undefined) {
      complaints.push(error([], 'has no prompt behind its front matter, and no config.skill_spec'));
    }
    for (const [index, trigger] of value.triggers.entries()) {
      if (trigger.provider === 'schedule') {
        const message = this.schedules.complaintAbout(trigger.schedule.cron);
        if (message !== undefined) complaints.push(error(['triggers', index, 'schedule', 'cron'], message));
        continue;
      }
      for (const [position, uid] of trigger.filter.webhook_ids.entries()) {
        if (webhooks.has(uid)) continue;
        const path = ['triggers', index, 'filter', 'webhook_ids', position];
        complaints.push(error(path, 'must be the uid of a webhook of the factory'));
      }
    }
    return complaints;
  }
}

function warningsOf(
  { value, error }: Located<AutomationFile>,
  webhooks: ReadonlyMap<string, FactoryWebhook>,
): DefinitionError[] {
  return value.triggers.flatMap((trigger, index) => {
    if (trigger.provider === 'schedule') return [];
    const path = ['triggers', index, 'filter', 'webhook_ids'];
    const ids = trigger.filter.webhook_ids;
    if (ids.length === 0) return [error(path, 'names no webhook, so that the trigger never fires')];
    return ids.flatMap((uid, position) => {
      const webhook = webhooks.get(uid);
      return webhook?.isDeleted
        ? [error([...path, position], `names the webhook ${webhook.name}, which was deleted`)]
        : [];
    });
  });
}

const settingsIn = ({
  name,
  enabled,
  agentUid,
  prompt,
  triggers,
  config,
}: Automation): AutomationSettings => ({
  name,
  enabled,
  agentUid,
  prompt: asInFile(prompt),
  triggers,
  config,
});

/** Names are unique in whatever case. */
const keyOf = (name: string): string => name.toLowerCase();
