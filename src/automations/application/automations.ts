import { Injectable } from '@nestjs/common';
import { type AccountCaller, activeTeamOf } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import type { Queryable } from '../../kernel/persistence/database.js';
import { Factories, FactoryWebhooks } from '../../webhooks/index.js';
import { type Automation, webhooksOf } from '../domain/automation.js';
import { AutomationRepository } from '../persistence/automation.repository.js';

/** An automation as people see it. */
export interface AutomationView extends Automation {
  /** Webhooks of its triggers that were deleted: they fire no more. */
  deletedWebhooks: ReadonlySet<string>;
}

/** The automations of the team that a caller acts for. */
@Injectable()
export class Automations {
  constructor(
    private readonly factories: Factories,
    private readonly webhooks: FactoryWebhooks,
    private readonly repository: AutomationRepository,
  ) {}

  /** By name. @throws Problem 404 when the team has no such factory */
  async list(database: Queryable, caller: AccountCaller, factoryUid: string): Promise<AutomationView[]> {
    await this.factories.find(database, caller, factoryUid);
    const automations = await this.repository.list(database, factoryUid);
    const isThere = await this.webhooksOf(database, factoryUid);
    return automations.map((automation) => toView(automation, isThere));
  }

  /** @throws Problem 404 when the team has no such automation */
  async find(database: Queryable, caller: AccountCaller, uid: string): Promise<AutomationView> {
    const automation = await this.repository.find(database, activeTeamOf(caller), uid);
    if (automation === undefined) throw Problem.notFound('automation');
    return this.view(database, automation);
  }

  async view(database: Queryable, automation: Automation): Promise<AutomationView> {
    return toView(automation, await this.webhooksOf(database, automation.factoryUid));
  }

  private async webhooksOf(database: Queryable, factoryUid: string): Promise<ReadonlySet<string>> {
    const webhooks = await this.webhooks.ofFactory(database, factoryUid);
    return new Set(webhooks.filter(({ isDeleted }) => !isDeleted).map(({ uid }) => uid));
  }
}

const toView = (automation: Automation, isThere: ReadonlySet<string>): AutomationView => ({
  ...automation,
  deletedWebhooks: new Set(webhooksOf(automation.triggers).filter((uid) => !isThere.has(uid))),
});
