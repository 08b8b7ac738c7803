import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Factories } from '../../webhooks/index.js';
import type { AutomationSettings } from '../domain/automation.js';
import { AutomationRepository } from '../persistence/automation.repository.js';
import { AutomationSchedules } from './automation-schedules.js';
import { Automations, type AutomationView } from './automations.js';
import { CheckAutomation } from './check-automation.js';

export type CreateAutomationOutcome =
  | { outcome: 'created'; automation: AutomationView }
  | { outcome: 'name_taken' }
  /** The factory has as many as one may have. */
  | { outcome: 'limit_reached' };

/** Makes an automation in a factory that the API edits. */
@Injectable()
export class CreateAutomation {
  constructor(
    private readonly factories: Factories,
    private readonly checkAutomation: CheckAutomation,
    private readonly repository: AutomationRepository,
    private readonly schedules: AutomationSchedules,
    private readonly automations: Automations,
  ) {}

  /** @throws Problem 404 for the factory, 409 when a repository defines it, 400 naming the field */
  async execute(
    tx: Tx,
    caller: AccountCaller,
    factoryUid: string,
    settings: AutomationSettings,
  ): Promise<CreateAutomationOutcome> {
    const factory = await this.factories.find(tx, caller, factoryUid);
    await this.factories.assertManaged(tx, factoryUid);
    await this.checkAutomation.execute(tx, factory, settings);
    const result = await this.repository.insert(tx, factoryUid, settings, caller.uid);
    if (typeof result === 'string') return { outcome: result };
    await this.schedules.keep(tx, result);
    return { outcome: 'created', automation: await this.automations.view(tx, result) };
  }
}
