import { Body, Controller, Header, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
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
import { RotateWebhookSecret } from '../application/rotate-webhook-secret.js';
import { SupplyWebhookSecret } from '../application/supply-webhook-secret.js';
import {
  RotateWebhookSecretRequest,
  SupplyWebhookSecretRequest,
  toWebhookResponse,
  toWebhookWithSecretResponse,
  WebhookResponse,
  WebhookWithSecretResponse,
} from './webhook.dto.js';
import { noRoomForSecret } from './webhook-problems.js';

const UNKNOWN = { description: 'No such webhook, or not one of the team' };
const INVALID = { description: 'A field is wrong; `errors` names it' };

@ApiTags('Webhooks')
@Controller('v1/webhooks/:uid')
export class WebhookSecretController {
  constructor(
    private readonly transactor: Transactor,
    private readonly rotateWebhookSecret: RotateWebhookSecret,
    private readonly supplyWebhookSecret: SupplyWebhookSecret,
    private readonly config: AppConfig,
  ) {}

  @Post('rotate-secret')
  @HttpCode(200)
  @RequirePermission('factories:manage')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({
    operationId: 'rotateWebhookSecret',
    summary: "Replace a webhook's secret",
    description:
      'The new secret, and the full ingress URL, are shown this once; the old one is invalid at once. A webhook that named a secret of ' +
      'the team gets one of its own, and the named one stays as it is.',
  })
  @ApiOkResponse({ type: WebhookWithSecretResponse })
  @ApiBadRequestResponse(INVALID)
  @ApiNotFoundResponse(UNKNOWN)
  @ApiConflictResponse({ description: 'It has no secret yet, or its factory is defined by a repository' })
  async rotate(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() request: RotateWebhookSecretRequest,
  ): Promise<WebhookWithSecretResponse> {
    const result = await this.transactor.run((tx) =>
      this.rotateWebhookSecret.execute(tx, caller, uid, request.secret || undefined),
    );
    switch (result.outcome) {
      case 'rotated':
        return toWebhookWithSecretResponse(this.config.webhookBaseUrl, result.webhook, result.secret);
      case 'awaiting_secret':
        throw new Problem('conflict', {
          detail: 'The webhook has no secret yet: give it the one that the provider has issued',
        });
      case 'secret_needed':
        throw Problem.invalid([
          { field: 'secret', message: 'is required: the provider issues it, so it is not generated here' },
        ]);
      case 'secret_unfit':
        throw Problem.invalid([{ field: 'secret', message: result.fault }]);
      case 'no_room_for_secret':
        throw noRoomForSecret();
    }
  }

  @Post('secret')
  @HttpCode(200)
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'supplyWebhookSecret',
    summary: 'Give a webhook the secret that it waits for',
    description:
      'The second step for providers that issue a secret only after they are given the ingress URL. Enables the webhook.',
  })
  @ApiOkResponse({ type: WebhookResponse })
  @ApiBadRequestResponse(INVALID)
  @ApiNotFoundResponse(UNKNOWN)
  @ApiConflictResponse({ description: 'It has a secret already, or its factory is defined by a repository' })
  async supply(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() { secret }: SupplyWebhookSecretRequest,
  ): Promise<WebhookResponse> {
    const result = await this.transactor.run((tx) =>
      this.supplyWebhookSecret.execute(tx, caller, uid, secret),
    );
    switch (result.outcome) {
      case 'supplied':
        return toWebhookResponse(this.config.webhookBaseUrl, result.webhook);
      case 'has_secret':
        throw new Problem('conflict', { detail: 'The webhook has a secret already: rotate it instead' });
      case 'secret_unfit':
        throw Problem.invalid([{ field: 'secret', message: result.fault }]);
      case 'no_room_for_secret':
        throw noRoomForSecret();
    }
  }
}
