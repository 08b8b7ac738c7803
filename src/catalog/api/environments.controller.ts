import { Controller, Get, Param, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { Environments } from '../application/environments.js';
import { ListEnvironments } from '../application/list-environments.js';
import { OpenEnvironmentLink } from '../application/open-environment-link.js';
import { EnvironmentResponses } from './environment-responses.js';
import { EnvironmentUidParam } from './environment-uid-param.pipe.js';
import {
  EnvironmentResponse,
  GetEnvironmentQuery,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
} from './environment.dto.js';

const UNKNOWN = { description: 'No such environment, or not one that the caller may know of' };

@ApiTags('Environments')
@Controller('v1/agent/environments')
export class EnvironmentsController {
  constructor(
    private readonly database: Database,
    private readonly transactor: Transactor,
    private readonly environments: Environments,
    private readonly listEnvironments: ListEnvironments,
    private readonly openLink: OpenEnvironmentLink,
    private readonly responses: EnvironmentResponses,
  ) {}

  @Get()
  @RequirePermission('environments:read')
  @ApiOperation({
    operationId: 'listEnvironments',
    summary: 'List environments',
    description:
      'Those that the caller or their team owns, that either is a guest of, and whose link the caller has opened.',
  })
  @ApiOkResponse({ type: ListEnvironmentsResponse })
  @ApiBadRequestResponse({ description: 'A parameter is wrong; `errors` names it' })
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Query() query: ListEnvironmentsQuery,
  ): Promise<ListEnvironmentsResponse> {
    const environments = await this.listEnvironments.execute(caller, query.sort_by);
    return { environments: await this.responses.all(caller, environments) };
  }

  @Get(':uid')
  @RequirePermission('environments:read')
  @ApiOperation({
    operationId: 'getEnvironment',
    summary: 'Read an environment',
    description: 'With `link`, the caller is a guest of it from then on.',
  })
  @ApiOkResponse({ type: EnvironmentResponse })
  @ApiBadRequestResponse({ description: '`link` is given twice' })
  @ApiNotFoundResponse({ description: `${UNKNOWN.description}, or not by this link` })
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', EnvironmentUidParam) uid: string,
    @Query() { link }: GetEnvironmentQuery,
  ): Promise<EnvironmentResponse> {
    const environment =
      link === undefined
        ? await this.environments.usable(this.database, caller, uid)
        : await this.transactor.run((tx) => this.openLink.execute(tx, caller, uid, link));
    if (environment === undefined) throw Problem.notFound('environment');
    return this.responses.one(caller, environment);
  }
}
