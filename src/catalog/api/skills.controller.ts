import { Controller, Get, Query } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { ListSkills } from '../application/list-skills.js';
import { parseRepository } from '../domain/skill-repository.js';
import { ListSkillsQuery, ListSkillsResponse, toListSkillsResponse } from './skill.dto.js';

@ApiTags('Skills')
@Controller('v1/agent')
export class SkillsController {
  constructor(private readonly listSkills: ListSkills) {}

  @Get()
  @RequirePermission('skills:read')
  @ApiOperation({
    operationId: 'listSkills',
    summary: 'List the skills that runs may name',
    description:
      'Each is a SKILL.md on the default branch of a repository. A repository that cannot be read is left out, and named in the log.',
  })
  @ApiOkResponse({ type: ListSkillsResponse })
  @ApiBadRequestResponse({ description: 'A parameter is wrong; `errors` names it' })
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Query() query: ListSkillsQuery,
  ): Promise<ListSkillsResponse> {
    const skills = await this.listSkills.execute(caller, {
      repository: query.repo === undefined ? undefined : parseRepository(query.repo),
      refresh: query.refresh,
      sort: query.sort_by,
      includeMalformed: query.include_malformed_skills,
    });
    return toListSkillsResponse(skills);
  }
}
