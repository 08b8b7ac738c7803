import { Module } from '@nestjs/common';
import { RunsModule } from '../runs/index.js';
import { SchedulesModule } from '../schedules/index.js';
import { WebhooksModule } from '../webhooks/index.js';
import { AutomationsController } from './api/automations.controller.js';
import { Automations } from './application/automations.js';
import { AutomationSchedules } from './application/automation-schedules.js';
import { CheckAutomation } from './application/check-automation.js';
import { ConfigureAutomationRuns } from './application/configure-automation-runs.js';
import { CreateAutomation } from './application/create-automation.js';
import { DeleteAutomation } from './application/delete-automation.js';
import { EvaluateDeliveries } from './application/evaluate-deliveries.js';
import { EvaluationPlans } from './application/evaluation-plans.js';
import { EvaluationReports } from './application/evaluation-reports.js';
import { EvaluationWorker } from './application/evaluation-worker.js';
import { LaunchMatches } from './application/launch-matches.js';
import { PrepareMatchRuns } from './application/prepare-match-runs.js';
import { ReplaceAutomation } from './application/replace-automation.js';
import { AutomationRepository } from './persistence/automation.repository.js';

/** What starts runs for events elsewhere: automations, the evaluation of deliveries, definition files. */
@Module({
  imports: [WebhooksModule, SchedulesModule, RunsModule],
  controllers: [AutomationsController],
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
  ],
})
export class AutomationsModule {}
