import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Factories } from '../../webhooks/index.js';
import type { AutomationSettings } from '../domain/automation.js';
import { AutomationRepository } from '../persistence/automation.repository.js';
import { AutomationSchedules } from './automation-schedules.js';
import { Automations, type AutomationView } from './automations.js';
import { CheckAutomation } from './check-automation.js';

export type ReplaceAutomationOutcome =
  { outcome: 'replaced'; automation: AutomationView } | { outcome: 'name_taken' } | { outcome: 'gone' };

/** Replaces what an automation is set to. Whoever does is the one in whose name its runs are created from then on. */
@Injectable()
export class ReplaceAutomation {
  constructor(
    private readonly factories: Factories,
    private readonly checkAutomation: CheckAutomation,
    private readonly repository: AutomationRepository,
    private readonly schedules: AutomationSchedules,
    private readonly automations: Automations,
  ) {}

  /** @throws Problem 404 for the automation, 409 when a repository defines its factory, 400 naming the field */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    uid: string,
    settings: AutomationSettings,
  ): Promise<ReplaceAutomationOutcome> {
    const automation = await this.automations.find(tx, caller, uid);
    const factory = await this.factories.find(tx, caller, automation.factoryUid);
    await this.factories.assertManaged(tx, factory.uid);
    await this.checkAutomation.execute(tx, factory, settings);
    const result = await this.repository.replace(tx, automation, settings, caller.uid);
    if (typeof result === 'string') return { outcome: result };
    await this.schedules.keep(tx, result);
    return { outcome: 'replaced', automation: await this.automations.view(tx, result) };
  }
}
