import { type DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ArtifactsModule } from './artifacts/index.js';
import { AutomationsModule } from './automations/index.js';
import { CatalogModule } from './catalog/index.js';
import { ExecutionModule } from './execution/index.js';
import { IdentitiesModule } from './identities/index.js';
import { type Foundation, KernelModule } from './kernel/kernel.module.js';
import { RunsModule } from './runs/index.js';
import { WebhooksModule } from './webhooks/index.js';
import { SchedulesModule } from './schedules/index.js';
import { ScoresModule } from './scores/index.js';

@Module({})
export class AppModule {
  static for(foundation: Foundation): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ScheduleModule.forRoot(),
        KernelModule.for(foundation),
        IdentitiesModule,
        CatalogModule,
        ArtifactsModule,
        RunsModule,
        ExecutionModule,
        WebhooksModule,
        AutomationsModule,
        SchedulesModule,
        ScoresModule,
      ],
    };
  }
}
