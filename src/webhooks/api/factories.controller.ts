import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateFactory } from '../application/create-factory.js';
import { DeleteFactory } from '../application/delete-factory.js';
import { Factories } from '../application/factories.js';
import { ListFactories } from '../application/list-factories.js';
import { UpdateFactory } from '../application/update-factory.js';
import {
  CreateFactoryRequest,
  FactoryResponse,
  ListFactoriesResponse,
  toFactoryResponse,
  UpdateFactoryRequest,
} from './factory.dto.js';

const NAME_TAKEN = { description: 'The team has a factory of this name already' };
const DEFINED_BY_REPOSITORY =
  'The factory is defined by a repository, whose files name it: it is renamed while its mode is managed';
const UNKNOWN = { description: 'No such factory, or not one of the team' };

@ApiTags('Factories')
@Controller('v1/factories')
export class FactoriesController {
  constructor(
    private readonly transactor: Transactor,
    private readonly database: Database,
    private readonly factories: Factories,
    private readonly listFactories: ListFactories,
    private readonly createFactory: CreateFactory,
    private readonly updateFactory: UpdateFactory,
    private readonly deleteFactory: DeleteFactory,
  ) {}

  @Get()
  @RequirePermission('factories:read')
  @ApiOperation({ operationId: 'listFactories', summary: "List the team's factories" })
  @ApiOkResponse({ type: ListFactoriesResponse })
  async list(@CurrentAccount() caller: AccountCaller): Promise<ListFactoriesResponse> {
    const factories = await this.transactor.run((tx) => this.listFactories.execute(tx, caller));
    return { factories: factories.map(toFactoryResponse) };
  }

  @Post()
  @RequirePermission('factories:manage')
  @ApiOperation({ operationId: 'createFactory', summary: 'Make a factory' })
  @ApiCreatedResponse({ type: FactoryResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiConflictResponse(NAME_TAKEN)
  async create(
    @CurrentAccount() caller: AccountCaller,
    @Body() request: CreateFactoryRequest,
  ): Promise<FactoryResponse> {
    const result = await this.transactor.run((tx) => this.createFactory.execute(tx, caller, request));
    switch (result.outcome) {
      case 'created':
        return toFactoryResponse(result.factory);
      case 'name_taken':
        throw new Problem('conflict', { detail: NAME_TAKEN.description });
      case 'limit_reached':
        throw new Problem('budget_exceeded', { detail: 'A team has at most 1,000 factories' });
    }
  }

  @Get(':uid')
  @RequirePermission('factories:read')
  @ApiOperation({ operationId: 'getFactory', summary: 'Read a factory' })
  @ApiOkResponse({ type: FactoryResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
  ): Promise<FactoryResponse> {
    return toFactoryResponse(await this.factories.find(this.database, caller, uid));
  }

  @Put(':uid')
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'updateFactory',
    summary: 'Change a factory',
    description:
      'What is left out stays as it is. `mode` can be changed in either mode, since it is the switch between them; while it is `repository`, the name cannot.',
  })
  @ApiOkResponse({ type: FactoryResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse(UNKNOWN)
  @ApiConflictResponse({ description: `${NAME_TAKEN.description}, or a repository defines the factory` })
  async update(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() request: UpdateFactoryRequest,
  ): Promise<FactoryResponse> {
    const result = await this.transactor.run((tx) => this.updateFactory.execute(tx, caller, uid, request));
    switch (result.outcome) {
      case 'updated':
        return toFactoryResponse(result.factory);
      case 'name_taken':
        throw new Problem('conflict', { detail: NAME_TAKEN.description });
      case 'is_default':
        throw Problem.invalid([{ field: 'name', message: 'the default factory keeps its name' }]);
      case 'defined_by_repository':
        throw new Problem('conflict', { detail: DEFINED_BY_REPOSITORY, retryable: false });
      case 'gone':
        throw Problem.notFound('factory');
    }
  }

  @Delete(':uid')
  @HttpCode(204)
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'deleteFactory',
    summary: 'Delete a factory',
    description: 'With its webhooks and all else that belongs to it, in either mode. The default one stays.',
  })
  @ApiNoContentResponse({ description: 'It is gone' })
  @ApiBadRequestResponse({ description: "It is the team's default one" })
  @ApiNotFoundResponse(UNKNOWN)
  async delete(@CurrentAccount() caller: AccountCaller, @Param('uid', UuidParam) uid: string): Promise<void> {
    const result = await this.transactor.run((tx) => this.deleteFactory.execute(tx, caller, uid));
    switch (result.outcome) {
      case 'deleted':
        return;
      case 'is_default':
        throw new Problem('invalid_request', { detail: "The team's default factory cannot be deleted" });
      case 'gone':
        throw Problem.notFound('factory');
    }
  }
}
