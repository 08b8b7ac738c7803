import { Body, Controller, Get, Header, Param, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { AppConfig } from '../../config/app-config.js';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateWebhook } from '../application/create-webhook.js';
import { ListWebhooks } from '../application/list-webhooks.js';
import { MAX_WEBHOOKS } from '../domain/webhook.js';
import {
  CreateWebhookRequest,
  ListWebhooksResponse,
  toWebhookRequest,
  toWebhookResponse,
  toWebhookWithSecretResponse,
  WebhookWithSecretResponse,
} from './webhook.dto.js';
import { noRoomForSecret } from './webhook-problems.js';

const UNKNOWN = { description: 'No such factory, or not one of the team' };

@ApiTags('Webhooks')
@Controller('v1/factories/:uid/webhooks')
export class FactoryWebhooksController {
  constructor(
    private readonly transactor: Transactor,
    private readonly listWebhooks: ListWebhooks,
    private readonly createWebhook: CreateWebhook,
    private readonly config: AppConfig,
  ) {}

  @Get()
  @RequirePermission('factories:read')
  @ApiOperation({ operationId: 'listWebhooks', summary: 'List the webhooks of a factory' })
  @ApiOkResponse({ type: ListWebhooksResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
  ): Promise<ListWebhooksResponse> {
    const webhooks = await this.listWebhooks.execute(caller, uid);
    return { webhooks: webhooks.map((webhook) => toWebhookResponse(this.config.webhookBaseUrl, webhook)) };
  }

  @Post()
  @RequirePermission('factories:manage')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({
    operationId: 'createWebhook',
    summary: 'Make a webhook',
    description:
      'Its secret, and the full ingress URL, are shown this once. A scheme whose provider issues the secret may do without one at first: ' +
      'the webhook then is disabled and waits for it.',
  })
  @ApiCreatedResponse({ type: WebhookWithSecretResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse(UNKNOWN)
  @ApiConflictResponse({
    description: 'The factory has a webhook of this name already, or is defined by a repository',
  })
  async create(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() request: CreateWebhookRequest,
  ): Promise<WebhookWithSecretResponse> {
    const result = await this.transactor.run((tx) =>
      this.createWebhook.execute(tx, caller, uid, toWebhookRequest(request)),
    );
    switch (result.outcome) {
      case 'created':
        return toWebhookWithSecretResponse(this.config.webhookBaseUrl, result.webhook, result.secret);
      case 'invalid':
        throw Problem.invalid([result.error]);
      case 'name_taken':
        throw new Problem('conflict', { detail: 'The factory has a webhook of this name already' });
      case 'factory_full':
        throw new Problem('budget_exceeded', { detail: `A factory has at most ${MAX_WEBHOOKS} webhooks` });
      case 'no_room_for_secret':
        throw noRoomForSecret();
    }
  }
}
