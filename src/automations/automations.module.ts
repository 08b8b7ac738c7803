import { Module } from '@nestjs/common';
import { WebhooksModule } from '../webhooks/index.js';
import { AutomationsController } from './api/automations.controller.js';
import { Automations } from './application/automations.js';
import { CheckAutomation } from './application/check-automation.js';
import { CreateAutomation } from './application/create-automation.js';
import { DeleteAutomation } from './application/delete-automation.js';
import { ReplaceAutomation } from './application/replace-automation.js';
import { AutomationRepository } from './persistence/automation.repository.js';

/** What starts runs for events elsewhere: automations, the evaluation of deliveries, definition files. */
@Module({
  imports: [WebhooksModule],
  controllers: [AutomationsController],
  providers: [
    AutomationRepository,
    Automations,
    CheckAutomation,
    CreateAutomation,
    ReplaceAutomation,
    DeleteAutomation,
  ],
})
export class AutomationsModule {}
