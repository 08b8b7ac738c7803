import { Injectable } from '@nestjs/common';
import { AgentIdentities } from '../../identities/index.js';
import { type FieldError, Problem } from '../../kernel/errors/problem.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { type Factory, FactoryWebhooks } from '../../webhooks/index.js';
import type { AutomationSettings } from '../domain/automation.js';
import { AutomationSchedules } from './automation-schedules.js';

/** Whether what an automation names is there. */
@Injectable()
export class CheckAutomation {
  constructor(
    private readonly agents: AgentIdentities,
    private readonly webhooks: FactoryWebhooks,
    private readonly schedules: AutomationSchedules,
  ) {}

  /** @throws Problem 400 naming the fields. A webhook that was deleted may stay: it fires no more. */
  async execute(tx: Tx, factory: Factory, settings: AutomationSettings): Promise<void> {
    const errors: FieldError[] = [];
    const { agentUid, config, prompt, triggers } = settings;
    if (agentUid !== null && (await this.agents.find(tx, factory.teamUid, agentUid)) === undefined) {
      errors.push({ field: 'agent_uid', message: 'must be an agent identity of the team' });
    }
    if (prompt.trim() === '' && config?.skill_spec === undefined) {
      errors.push({ field: 'prompt', message: 'is required unless config.skill_spec is given' });
    }
    const known = new Set((await this.webhooks.ofFactory(tx, factory.uid)).map(({ uid }) => uid));
    for (const [index, trigger] of triggers.entries()) {
      if (trigger.provider === 'schedule') {
        const message = this.schedules.complaintAbout(trigger.schedule.cron);
        if (message !== undefined) errors.push({ field: `triggers.${index}.schedule.cron`, message });
        continue;
      }
      for (const [position, uid] of trigger.filter.webhook_ids.entries()) {
        if (known.has(uid)) continue;
        const field = `triggers.${index}.filter.webhook_ids.${position}`;
        errors.push({ field, message: 'must be a webhook of the factory' });
      }
    }
    if (errors.length > 0) throw Problem.invalid(errors);
  }
}
