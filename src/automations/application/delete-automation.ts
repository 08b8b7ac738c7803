import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '../../identities/index.js';
import type { Tx } from '../../kernel/persistence/database.js';
import { Factories } from '../../webhooks/index.js';
import { AutomationRepository } from '../persistence/automation.repository.js';
import { AutomationSchedules } from './automation-schedules.js';
import { Automations } from './automations.js';

/** Deletes an automation. From then on it starts nothing, and what it started stays. */
@Injectable()
export class DeleteAutomation {
  constructor(
    private readonly factories: Factories,
    private readonly repository: AutomationRepository,
    private readonly schedules: AutomationSchedules,
    private readonly automations: Automations,
  ) {}

  /**
   * @returns false when it was deleted meanwhile
   * @throws Problem 404 for the automation, 409 when a repository defines its factory
   */
  async execute(tx: Tx, caller: AccountCaller, uid: string): Promise<boolean> {
    const automation = await this.automations.find(tx, caller, uid);
    await this.factories.assertManaged(tx, automation.factoryUid);
    await this.schedules.remove(tx, uid);
    return this.repository.delete(tx, automation);
  }
}
