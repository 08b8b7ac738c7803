import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import {
  type AccountCaller,
  CurrentAccount,
  ownershipFor,
  PrincipalDirectory,
  RequirePermission,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateEnvironment } from '../application/create-environment.js';
import { DeleteEnvironment } from '../application/delete-environment.js';
import { EnvironmentRuns } from '../application/environment-runs.js';
import { Environments } from '../application/environments.js';
import { ListEnvironments } from '../application/list-environments.js';
import { OpenEnvironmentLink } from '../application/open-environment-link.js';
import { ReplaceEnvironment } from '../application/replace-environment.js';
import type { EnvironmentView } from '../domain/environment-view.js';
import {
  CreateEnvironmentRequest,
  EnvironmentConfigDto,
  toEnvironmentConfig,
} from './environment-config.dto.js';
import { toProblem } from './environment-problems.js';
import { EnvironmentUidParam } from './environment-uid-param.pipe.js';
import {
  EnvironmentResponse,
  GetEnvironmentQuery,
  ListEnvironmentsQuery,
  ListEnvironmentsResponse,
  toEnvironmentResponse,
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
    private readonly createEnvironment: CreateEnvironment,
    private readonly replaceEnvironment: ReplaceEnvironment,
    private readonly deleteEnvironment: DeleteEnvironment,
    private readonly principals: PrincipalDirectory,
    private readonly runs: EnvironmentRuns,
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
    return { environments: await this.toResponses(caller, environments) };
  }

  @Post()
  @RequirePermission('environments:write')
  @ApiOperation({ operationId: 'createEnvironment', summary: 'Make an environment' })
  @ApiCreatedResponse({ type: EnvironmentResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  async create(
    @CurrentAccount() caller: AccountCaller,
    @Body() request: CreateEnvironmentRequest,
  ): Promise<EnvironmentResponse> {
    const owner = ownershipFor(caller, request.team);
    const result = await this.transactor.run((tx) =>
      this.createEnvironment.execute(tx, caller, owner, toEnvironmentConfig(request)),
    );
    switch (result.outcome) {
      case 'created':
        return this.toResponse(caller, result.environment);
      case 'limit_reached':
        throw new Problem('budget_exceeded', {
          detail: `A team, and a person, has at most ${result.limit} environments`,
        });
    }
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
    return this.toResponse(caller, environment);
  }

  @Put(':uid')
  @RequirePermission('environments:write')
  @ApiOperation({
    operationId: 'replaceEnvironment',
    summary: "Replace an environment's configuration",
    description: 'What is left out is cleared. For its owners.',
  })
  @ApiOkResponse({ type: EnvironmentResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse(UNKNOWN)
  async replace(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', EnvironmentUidParam) uid: string,
    @Body() request: EnvironmentConfigDto,
  ): Promise<EnvironmentResponse> {
    const result = await this.transactor.run((tx) =>
      this.replaceEnvironment.execute(tx, caller, uid, toEnvironmentConfig(request)),
    );
    switch (result.outcome) {
      case 'replaced':
        return this.toResponse(caller, result.environment);
      case 'not_found':
      case 'guests_only_use':
        throw toProblem(result);
    }
  }

  @Delete(':uid')
  @HttpCode(204)
  @RequirePermission('environments:write')
  @ApiOperation({
    operationId: 'deleteEnvironment',
    summary: 'Delete an environment and its shares',
    description: 'Runs keep its id. For its owners.',
  })
  @ApiNoContentResponse()
  @ApiNotFoundResponse(UNKNOWN)
  async delete(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', EnvironmentUidParam) uid: string,
  ): Promise<void> {
    const result = await this.transactor.run((tx) => this.deleteEnvironment.execute(tx, caller, uid));
    if (result.outcome !== 'deleted') throw toProblem(result);
  }

  private async toResponse(
    caller: AccountCaller,
    environment: EnvironmentView,
  ): Promise<EnvironmentResponse> {
    const [response] = await this.toResponses(caller, [environment]);
    if (response === undefined) throw new Error('one environment makes one response');
    return response;
  }

  private async toResponses(
    caller: AccountCaller,
    environments: EnvironmentView[],
  ): Promise<EnvironmentResponse[]> {
    const [principals, latestRuns] = await Promise.all([
      this.principals.find(environments.flatMap((one) => [one.creator_uid, one.last_editor_uid])),
      this.runs.latest(environments.map((one) => one.uid)),
    ]);
    return environments.map((one) => toEnvironmentResponse(one, caller, principals, latestRuns.get(one.uid)));
  }
}
