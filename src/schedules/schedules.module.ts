import { Module, type OnModuleInit } from '@nestjs/common';
import { CatalogModule } from '../catalog/index.js';
import { Metrics } from '../kernel/observability/metrics.js';
import { Database } from '../kernel/persistence/database.js';
import { SharedClock } from '../kernel/persistence/shared-clock.js';
import { RunsModule } from '../runs/index.js';
import { ScheduleResponses } from './api/schedule-responses.js';
import { SchedulesController } from './api/schedules.controller.js';
import { CreateSchedule } from './application/create-schedule.js';
import { CronTriggers } from './application/cron-triggers.js';
import { DeleteSchedule } from './application/delete-schedule.js';
import { FireTriggers } from './application/fire-triggers.js';
import { JudgeSchedule } from './application/judge-schedule.js';
import { ReadSchedules } from './application/read-schedules.js';
import { ReplaceSchedule } from './application/replace-schedule.js';
import { ScheduledRuns } from './application/scheduled-runs.js';
import { SwitchSchedule } from './application/switch-schedule.js';
import { CronTriggerRepository } from './persistence/cron-trigger.repository.js';
import { ScheduleRepository } from './persistence/schedule.repository.js';

/** Scheduled agents, and cron triggers for whoever else wants runs at certain times. */
@Module({
  imports: [CatalogModule, RunsModule],
  controllers: [SchedulesController],
  providers: [
    CreateSchedule,
    ReplaceSchedule,
    SwitchSchedule,
    DeleteSchedule,
    ReadSchedules,
    JudgeSchedule,
    ScheduledRuns,
    CronTriggers,
    FireTriggers,
    ScheduleResponses,
    ScheduleRepository,
    CronTriggerRepository,
  ],
  exports: [CronTriggers],
})
export class SchedulesModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly triggers: CronTriggerRepository,
    private readonly clock: SharedClock,
    private readonly database: Database,
  ) {}

  onModuleInit(): void {
    this.metrics.observeGauge({
      name: 'millwright_schedule_lag_seconds',
      help: 'How long the longest due schedule has been waiting to be fired; 0 = none is due',
      labelNames: [],
      read: async () => {
        const now = await this.clock.now(this.database);
        return [{ labels: {}, value: await this.triggers.lag(this.database, now) }];
      },
    });
  }
}
