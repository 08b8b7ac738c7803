import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../kernel/persistence/database.js';
import { MAX_PATHS, OUTCOME } from '../../webhooks/index.js';
import { type CompiledPlan, compilePlan } from '../domain/compile-plan.js';
import { AutomationRepository } from '../persistence/automation.repository.js';

/** The least recently used one is forgotten. */
const MAX_PLANS = 500;
const CODES = { matched: OUTCOME.matched, broken: OUTCOME.gaveUp, maxPaths: MAX_PATHS };

/** What the deliveries of webhooks are held against, compiled once for every revision of a factory's automations. */
@Injectable()
export class EvaluationPlans {
  private readonly plans = new Map<string, CompiledPlan>();

  constructor(
    private readonly automations: AutomationRepository,
    private readonly database: Database,
  ) {}

  /** The plan as far as it is known here. Whoever records by it checks that it is current, and forgets it otherwise. */
  async of(webhookUid: string): Promise<CompiledPlan> {
    const plan = this.plans.get(webhookUid) ?? (await this.compile(webhookUid));
    this.plans.delete(webhookUid);
    this.plans.set(webhookUid, plan);
    const [oldest] = this.plans.keys();
    if (this.plans.size > MAX_PLANS && oldest !== undefined) this.plans.delete(oldest);
    return plan;
  }

  forget({ webhookUid }: CompiledPlan): void {
    this.plans.delete(webhookUid);
  }

  private async compile(webhookUid: string): Promise<CompiledPlan> {
    // The automations are read after the revision: that they are newer than it says is told by the check.
    const revision = await this.automations.revisionFor(this.database, webhookUid);
    const automations = await this.automations.selecting(this.database, webhookUid);
    return compilePlan({ webhookUid, revision }, automations, CODES);
  }

  /** Whether nobody has changed the automations since. Ask while the factory is held. */
  async isCurrent(tx: Tx, { webhookUid, revision }: CompiledPlan): Promise<boolean> {
    return (await this.automations.revisionFor(tx, webhookUid)) === revision;
  }
}
