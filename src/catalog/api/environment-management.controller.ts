import { Body, Controller, Delete, HttpCode, Param, Post, Put } from '@nestjs/common';
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
  RequirePermission,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateEnvironment } from '../application/create-environment.js';
import { DeleteEnvironment } from '../application/delete-environment.js';
import { ReplaceEnvironment } from '../application/replace-environment.js';
import {
  CreateEnvironmentRequest,
  EnvironmentConfigDto,
  toEnvironmentConfig,
} from './environment-config.dto.js';
import { toProblem } from './environment-problems.js';
import { EnvironmentResponses } from './environment-responses.js';
import { EnvironmentUidParam } from './environment-uid-param.pipe.js';
import { EnvironmentResponse } from './environment.dto.js';

const UNKNOWN = { description: 'No such environment, or not one that the caller may know of' };

/** Making, changing and deleting environments: for those who own them. */
@ApiTags('Environments')
@Controller('v1/agent/environments')
export class EnvironmentManagementController {
  constructor(
    private readonly transactor: Transactor,
    private readonly createEnvironment: CreateEnvironment,
    private readonly replaceEnvironment: ReplaceEnvironment,
    private readonly deleteEnvironment: DeleteEnvironment,
    private readonly responses: EnvironmentResponses,
  ) {}

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
        return this.responses.one(caller, result.environment);
      case 'limit_reached':
        throw new Problem('budget_exceeded', {
          detail: `A team, and a person, has at most ${result.limit} environments`,
        });
    }
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
        return this.responses.one(caller, result.environment);
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
}
