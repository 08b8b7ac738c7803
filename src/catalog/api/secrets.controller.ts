import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
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
import {
  type AccountCaller,
  CurrentAccount,
  ownershipFor,
  RequirePermission,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateSecret } from '../application/create-secret.js';
import { DeleteSecret } from '../application/delete-secret.js';
import { ListSecrets } from '../application/list-secrets.js';
import { UpdateSecret } from '../application/update-secret.js';
import { SecretNameParam } from './secret-name-param.pipe.js';
import {
  CreateSecretRequest,
  ListSecretsResponse,
  SecretQuery,
  SecretResponse,
  toSecretResponse,
  UpdateSecretRequest,
} from './secret.dto.js';

@ApiTags('Secrets')
@Controller('v1/secrets')
export class SecretsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly createSecret: CreateSecret,
    private readonly listSecrets: ListSecrets,
    private readonly updateSecret: UpdateSecret,
    private readonly deleteSecret: DeleteSecret,
  ) {}

  @Post()
  @RequirePermission('secrets:write')
  @ApiOperation({ operationId: 'createSecret', summary: 'Keep a secret' })
  @ApiCreatedResponse({ type: SecretResponse, description: 'It is kept, encrypted' })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiConflictResponse({ description: 'There is a secret of this name already' })
  async create(
    @CurrentAccount() caller: AccountCaller,
    @Body() request: CreateSecretRequest,
  ): Promise<SecretResponse> {
    const owner = ownershipFor(caller, request.team);
    const result = await this.transactor.run((tx) => this.createSecret.execute(tx, owner, request));
    switch (result.outcome) {
      case 'created':
        return toSecretResponse(result.secret);
      case 'name_taken':
        throw new Problem('conflict', { detail: `There is a secret named ${request.name} already` });
      case 'limit_reached':
        throw new Problem('budget_exceeded', { detail: 'There are 1,000 secrets already' });
    }
  }

  @Get()
  @RequirePermission('secrets:read')
  @ApiOperation({
    operationId: 'listSecrets',
    summary: 'List the names of secrets',
    description: "The active team's and the caller's own, unless `team` asks for one or the other.",
  })
  @ApiOkResponse({ type: ListSecretsResponse })
  @ApiBadRequestResponse({ description: 'A parameter is wrong; `errors` names it' })
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Query() query: SecretQuery,
  ): Promise<ListSecretsResponse> {
    const secrets = await this.listSecrets.execute(caller, query.team);
    return { secrets: secrets.map(toSecretResponse) };
  }

  @Put(':name')
  @RequirePermission('secrets:write')
  @ApiOperation({
    operationId: 'updateSecret',
    summary: 'Give a secret a new value',
    description: '`team` may stand in the body or in the query; the body wins.',
  })
  @ApiOkResponse({ type: SecretResponse, description: 'The new value is kept, encrypted' })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'No such secret' })
  async update(
    @CurrentAccount() caller: AccountCaller,
    @Param('name', SecretNameParam) name: string,
    @Query() query: SecretQuery,
    @Body() { value, team }: UpdateSecretRequest,
  ): Promise<SecretResponse> {
    const owner = ownershipFor(caller, team ?? query.team);
    const secret = await this.transactor.run((tx) => this.updateSecret.execute(tx, owner, { name, value }));
    if (secret === undefined) throw Problem.notFound('secret');
    return toSecretResponse(secret);
  }

  @Delete(':name')
  @HttpCode(204)
  @RequirePermission('secrets:write')
  @ApiOperation({ operationId: 'deleteSecret', summary: 'Delete a secret' })
  @ApiNoContentResponse({ description: 'It is gone' })
  @ApiBadRequestResponse({ description: 'A parameter is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'No such secret' })
  async delete(
    @CurrentAccount() caller: AccountCaller,
    @Param('name', SecretNameParam) name: string,
    @Query() query: SecretQuery,
  ): Promise<void> {
    const owner = ownershipFor(caller, query.team);
    const deleted = await this.transactor.run((tx) => this.deleteSecret.execute(tx, owner, name));
    if (!deleted) throw Problem.notFound('secret');
  }
}
