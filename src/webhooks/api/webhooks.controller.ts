import { Body, Controller, Delete, Get, HttpCode, Param, Patch } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { AppConfig } from '../../config/app-config.js';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ChangeWebhook } from '../application/change-webhook.js';
import { DeleteWebhook } from '../application/delete-webhook.js';
import { Webhooks } from '../application/webhooks.js';
import { ChangeWebhookRequest, toWebhookChange, toWebhookResponse, WebhookResponse } from './webhook.dto.js';

const UNKNOWN = { description: 'No such webhook, or not one of the team' };

@ApiTags('Webhooks')
@Controller('v1/webhooks/:uid')
export class WebhooksController {
  constructor(
    private readonly transactor: Transactor,
    private readonly database: Database,
    private readonly webhooks: Webhooks,
    private readonly changeWebhook: ChangeWebhook,
    private readonly deleteWebhook: DeleteWebhook,
    private readonly config: AppConfig,
  ) {}

  @Get()
  @RequirePermission('factories:read')
  @ApiOperation({ operationId: 'getWebhook', summary: 'Read a webhook' })
  @ApiOkResponse({ type: WebhookResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
  ): Promise<WebhookResponse> {
    const webhook = await this.webhooks.find(this.database, caller, uid);
    return toWebhookResponse(this.config.webhookBaseUrl, webhook);
  }

  @Patch()
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'changeWebhook',
    summary: 'Enable, disable or change a webhook',
    description:
      'What is left out stays as it is. Enabling takes the present value of the secret that the webhook names.',
  })
  @ApiOkResponse({ type: WebhookResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse(UNKNOWN)
  @ApiConflictResponse({
    description: 'It has no secret that it could be enabled with, or its factory is defined by a repository',
  })
  async change(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() request: ChangeWebhookRequest,
  ): Promise<WebhookResponse> {
    const result = await this.transactor.run((tx) =>
      this.changeWebhook.execute(tx, caller, uid, toWebhookChange(request)),
    );
    switch (result.outcome) {
      case 'changed':
        return toWebhookResponse(this.config.webhookBaseUrl, result.webhook);
      case 'awaiting_secret':
        throw new Problem('conflict', {
          detail:
            'The webhook has no secret yet: give it the one that the provider has issued, which enables it',
        });
      case 'secret_missing':
        throw new Problem('conflict', {
          detail: `The secret ${result.secretName} is there no more: make it again, or rotate the webhook's secret`,
        });
      case 'secret_unfit':
        throw new Problem('conflict', {
          detail: `The value of the secret ${result.secretName} does not fit the webhook: it ${result.fault}`,
        });
    }
  }

  @Delete()
  @HttpCode(204)
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      "Its senders get 404 from then on. Automations that selected it stay. The team's secret stays.",
  })
  @ApiNoContentResponse({ description: 'It is gone' })
  @ApiNotFoundResponse(UNKNOWN)
  @ApiConflictResponse({ description: 'Its factory is defined by a repository' })
  async delete(@CurrentAccount() caller: AccountCaller, @Param('uid', UuidParam) uid: string): Promise<void> {
    await this.transactor.run((tx) => this.deleteWebhook.execute(tx, caller, uid));
  }
}
