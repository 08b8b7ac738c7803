import { Module } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { ModelsController } from './api/models.controller.js';
import { loadModelCatalogue } from './application/load-model-catalogue.js';
import { Models } from './application/models.js';

@Module({
  controllers: [ModelsController],
  providers: [
    {
      provide: Models,
      useFactory: (config: AppConfig) => new Models(loadModelCatalogue(config.modelsFile)),
      inject: [AppConfig],
    },
  ],
  exports: [Models],
})
export class ModelsModule {}
