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
import { AppConfig } from '../../config/app-config.js';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ListEnvironmentShares } from '../application/list-environment-shares.js';
import { RevokeEnvironmentShare } from '../application/revoke-environment-share.js';
import { type Grantee, ShareEnvironment } from '../application/share-environment.js';
import { toProblem } from './environment-problems.js';
import {
  ListEnvironmentSharesResponse,
  NewEnvironmentShareResponse,
  ShareEnvironmentRequest,
  toNewShareResponse,
  toShareResponse,
} from './environment-share.dto.js';
import { EnvironmentUidParam } from './environment-uid-param.pipe.js';

const UNKNOWN = { description: 'No such environment or share, or not one that the caller may know of' };

@ApiTags('Environments')
@Controller('v1/agent/environments/:uid/shares')
export class EnvironmentSharesController {
  constructor(
    private readonly config: AppConfig,
    private readonly transactor: Transactor,
    private readonly listShares: ListEnvironmentShares,
    private readonly shareEnvironment: ShareEnvironment,
    private readonly revokeShare: RevokeEnvironmentShare,
  ) {}

  @Get()
  @RequirePermission('environments:write')
  @ApiOperation({
    operationId: 'listEnvironmentShares',
    summary: 'List whom an environment is shared with',
    description: 'For its owners.',
  })
  @ApiOkResponse({ type: ListEnvironmentSharesResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', EnvironmentUidParam) uid: string,
  ): Promise<ListEnvironmentSharesResponse> {
    const result = await this.listShares.execute(caller, uid);
    if (result.outcome !== 'found') throw toProblem(result);
    return { shares: result.shares.map(toShareResponse) };
  }

  @Post()
  @RequirePermission('environments:write')
  @ApiOperation({
    operationId: 'shareEnvironment',
    summary: 'Share an environment with a user, with a team, or by a link',
    description:
      'Guests read and use it. Sharing again with the same grantee answers the share that there is. A new link takes the place of ' +
      'the old one: that stops to work, and whoever had opened it has to open the new one. For its owners.',
  })
  @ApiCreatedResponse({ type: NewEnvironmentShareResponse })
  @ApiBadRequestResponse({
    description: 'A field is wrong, or there is no such user or team; `errors` names it',
  })
  @ApiNotFoundResponse(UNKNOWN)
  async share(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', EnvironmentUidParam) uid: string,
    @Body() request: ShareEnvironmentRequest,
  ): Promise<NewEnvironmentShareResponse> {
    const result = await this.transactor.run((tx) =>
      this.shareEnvironment.execute(tx, caller, uid, granteeOf(request)),
    );
    switch (result.outcome) {
      case 'shared':
        return toNewShareResponse(result, `${this.config.publicUrl}/v1/agent/environments/${uid}`);
      case 'no_such_grantee':
        throw Problem.invalid([{ field: 'uid', message: `is not that of a ${request.kind}` }]);
      case 'limit_reached':
        throw new Problem('budget_exceeded', {
          detail: `An environment has at most ${result.limit} shares`,
        });
      case 'not_found':
      case 'guests_only_use':
        throw toProblem(result);
    }
  }

  @Delete(':shareUid')
  @HttpCode(204)
  @RequirePermission('environments:write')
  @ApiOperation({
    operationId: 'revokeEnvironmentShare',
    summary: 'End a share',
    description: 'Of a link, for all who had opened it. For the owners of the environment.',
  })
  @ApiParam({ name: 'shareUid', format: 'uuid' })
  @ApiNoContentResponse()
  @ApiNotFoundResponse(UNKNOWN)
  async revoke(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', EnvironmentUidParam) uid: string,
    @Param('shareUid', UuidParam) shareUid: string,
  ): Promise<void> {
    const result = await this.transactor.run((tx) => this.revokeShare.execute(tx, caller, uid, shareUid));
    if (result.outcome !== 'revoked') throw toProblem(result);
  }
}

/** `uid` is there for a user and for a team: the request was validated. */
const granteeOf = ({ kind, uid = '' }: ShareEnvironmentRequest): Grantee =>
  kind === 'link' ? { kind } : { kind, uid };
