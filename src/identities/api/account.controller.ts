import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateApiKey } from '../application/create-api-key.js';
import { ListApiKeys } from '../application/list-api-keys.js';
import { ReadAccount } from '../application/read-account.js';
import { RevokeApiKey } from '../application/revoke-api-key.js';
import type { AccountCaller, UserCaller } from '../domain/caller.js';
import { AccountResponse, toAccountResponse } from './account.dto.js';
import {
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  ListApiKeysResponse,
  toApiKeyResponse,
} from './api-key.dto.js';
import { CurrentAccount, CurrentUser, RequirePermission } from './require-permission.js';

@ApiTags('Account')
@Controller('v1')
export class AccountController {
  constructor(
    private readonly transactor: Transactor,
    private readonly readAccount: ReadAccount,
    private readonly createApiKey: CreateApiKey,
    private readonly listApiKeys: ListApiKeys,
    private readonly revokeApiKey: RevokeApiKey,
  ) {}

  @Get('me')
  @RequirePermission('me:read')
  @ApiOperation({ operationId: 'getMe', summary: 'Read who calls, and for which team' })
  @ApiOkResponse({ type: AccountResponse })
  async me(@CurrentAccount() caller: AccountCaller): Promise<AccountResponse> {
    return toAccountResponse(caller, await this.readAccount.teamsOf(caller));
  }

  @Post('api-keys')
  @RequirePermission('api-keys:manage')
  @ApiOperation({
    operationId: 'createApiKey',
    summary: "Make an API key of yours or of one of your team's agent identities",
  })
  @ApiCreatedResponse({ type: CreatedApiKeyResponse, description: 'The key is shown this once' })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  async create(
    @CurrentUser() caller: UserCaller,
    @Body() request: CreateApiKeyRequest,
  ): Promise<CreatedApiKeyResponse> {
    const result = await this.transactor.run((tx) =>
      this.createApiKey.execute(tx, caller, {
        name: request.name,
        expiresAt: request.expires_at ? new Date(request.expires_at) : undefined,
        agentUid: request.agent_uid ?? undefined,
        operator: request.operator ?? undefined,
      }),
    );
    switch (result.outcome) {
      case 'created':
        return Object.assign(toApiKeyResponse(result.apiKey), { key: result.key });
      case 'expired_already':
        throw Problem.invalid([{ field: 'expires_at', message: 'must be in the future' }]);
      case 'not_an_operator':
        throw new Problem('not_authorized', { detail: "Only an operator's key makes an operator's key" });
      case 'no_such_agent':
        throw Problem.invalid([
          { field: 'agent_uid', message: 'must be an agent identity of the team that you act for' },
        ]);
      case 'full':
        throw new Problem('budget_exceeded', { detail: 'Revoke API keys that are no longer needed' });
    }
  }

  @Get('api-keys')
  @RequirePermission('api-keys:manage')
  @ApiOperation({
    operationId: 'listApiKeys',
    summary: "List your API keys and those of your team's agent identities",
  })
  @ApiOkResponse({ type: ListApiKeysResponse })
  async list(@CurrentUser() caller: UserCaller): Promise<ListApiKeysResponse> {
    return { api_keys: (await this.listApiKeys.execute(caller)).map(toApiKeyResponse) };
  }

  @Delete('api-keys/:uid')
  @HttpCode(204)
  @RequirePermission('api-keys:manage')
  @ApiOperation({ operationId: 'revokeApiKey', summary: 'Revoke an API key' })
  @ApiParam({ name: 'uid', format: 'uuid' })
  @ApiNoContentResponse({ description: 'The key works no more' })
  @ApiNotFoundResponse({ description: 'No such key, or not one that you may know of' })
  async revoke(@CurrentUser() caller: UserCaller, @Param('uid', UuidParam) uid: string): Promise<void> {
    const revoked = await this.transactor.run((tx) => this.revokeApiKey.execute(tx, caller, uid));
    if (!revoked) throw Problem.notFound('API key');
  }
}
