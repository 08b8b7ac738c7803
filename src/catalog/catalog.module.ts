import { Module } from '@nestjs/common';
import { EnvironmentsModule } from './environments.module.js';
import { ModelsModule } from './models.module.js';
import { SecretsModule } from './secrets.module.js';
import { SkillsModule } from './skills.module.js';

const PARTS = [EnvironmentsModule, SkillsModule, ModelsModule, SecretsModule];

/** What runs are made of: environments, skills, models and secrets. */
@Module({ imports: PARTS, exports: PARTS })
export class CatalogModule {}
