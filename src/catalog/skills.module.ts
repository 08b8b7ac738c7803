import { Module } from '@nestjs/common';
import { SkillsController } from './api/skills.controller.js';
import { GitCredentials, SecretGitCredentials } from './application/git-credentials.js';
import { ListSkills } from './application/list-skills.js';
import { RepositorySkills } from './application/repository-skills.js';
import { ResolveSkill } from './application/resolve-skill.js';
import { SecretsModule } from './secrets.module.js';
import { EnvironmentReadModel } from './persistence/environment.read-model.js';
import { GitCache } from './persistence/git-cache.js';

/** Skills, discovered in repositories. `SkillRuns` is bound by the runs module, for the whole application. */
@Module({
  imports: [SecretsModule],
  controllers: [SkillsController],
  providers: [
    ListSkills,
    ResolveSkill,
    RepositorySkills,
    GitCache,
    { provide: GitCredentials, useClass: SecretGitCredentials },
    EnvironmentReadModel,
  ],
  exports: [ResolveSkill, GitCredentials],
})
export class SkillsModule {}
