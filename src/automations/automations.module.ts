import { Global, Module } from '@nestjs/common';
import { CatalogModule } from '../catalog/index.js';
import { AgentDefinitions } from '../identities/index.js';
import { RunsModule } from '../runs/index.js';
import { SchedulesModule } from '../schedules/index.js';
import { ScoresModule } from '../scores/index.js';
import { WebhooksModule } from '../webhooks/index.js';
import { AutomationsController } from './api/automations.controller.js';
import { DefinitionsController } from './api/definitions.controller.js';
import { WebhookFiltersController } from './api/webhook-filters.controller.js';
import { Automations } from './application/automations.js';
import { ApplyAgents } from './application/apply-agents.js';
import { ApplyAutomations } from './application/apply-automations.js';
import { ApplyDefinition } from './application/apply-definition.js';
import { ApplyScorers } from './application/apply-scorers.js';
import { AutomationSchedules } from './application/automation-schedules.js';
import { CheckAutomation } from './application/check-automation.js';
import { ConfigureAutomationRuns } from './application/configure-automation-runs.js';
import { CreateAutomation } from './application/create-automation.js';
import { DeleteAutomation } from './application/delete-automation.js';
import { EvaluateDeliveries } from './application/evaluate-deliveries.js';
import { EvaluationPlans } from './application/evaluation-plans.js';
import { EvaluationReports } from './application/evaluation-reports.js';
import { EvaluationWorker } from './application/evaluation-worker.js';
import { ExportDefinition } from './application/export-definition.js';
import { LaunchMatches } from './application/launch-matches.js';
import { PrepareMatchRuns } from './application/prepare-match-runs.js';
import { ReplaceAutomation } from './application/replace-automation.js';
import { SweepPlans } from './application/sweep-plans.js';
import { TestFilter } from './application/test-filter.js';
import { FactoryAgentDefinitions } from './persistence/agent-definitions.js';
import { AutomationRepository } from './persistence/automation.repository.js';
import { FactoryAgentRepository } from './persistence/factory-agent.repository.js';

/** Binds the port of identities that automations implements, for the whole application: identities does not import automations. */
@Global()
@Module({
  providers: [{ provide: AgentDefinitions, useClass: FactoryAgentDefinitions }],
  exports: [AgentDefinitions],
})
class PortsModule {}

/** What starts runs for events elsewhere: automations, the evaluation of deliveries, definition files. */
@Module({
  imports: [PortsModule, WebhooksModule, SchedulesModule, ScoresModule, RunsModule, CatalogModule],
  controllers: [AutomationsController, WebhookFiltersController, DefinitionsController],
  providers: [
    AutomationRepository,
    Automations,
    AutomationSchedules,
    CheckAutomation,
    ConfigureAutomationRuns,
    CreateAutomation,
    ReplaceAutomation,
    DeleteAutomation,
    EvaluationWorker,
    EvaluateDeliveries,
    EvaluationPlans,
    EvaluationReports,
    LaunchMatches,
    PrepareMatchRuns,
    TestFilter,
    SweepPlans,
    FactoryAgentRepository,
    ApplyAgents,
    ApplyAutomations,
    ApplyScorers,
    ApplyDefinition,
    ExportDefinition,
  ],
})
export class AutomationsModule {}
