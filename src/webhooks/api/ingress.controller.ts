import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBadRequestResponse,
  ApiBody,
  ApiHeader,
  ApiMethodNotAllowedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiPayloadTooLargeResponse,
  ApiServiceUnavailableResponse,
  ApiTags,
  ApiTooManyRequestsResponse,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { applyDecorators } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { Public } from '../../kernel/http/access.js';
import { DeliveryAcceptedDto } from './delivery-accepted.dto.js';

const describesIngress = (): MethodDecorator =>
  applyDecorators(
    HttpCode(202),
    ApiHeader({
      name: 'X-Service-Delivery-Id',
      required: false,
      description:
        'The id that the sender gives the delivery, 256 characters at most. One that was accepted already is answered like the first.',
    }),
    ApiBody({
      description: 'Any JSON value of at most 262,144 bytes; the content type is not looked at',
      schema: { example: { action: 'opened', number: 7 } },
    }),
    ApiAcceptedResponse({
      type: DeliveryAcceptedDto,
      description: 'Accepted for evaluation, or known already',
    }),
    ApiOkResponse({
      description: "Slack's `url_verification`: its challenge",
      schema: { example: { challenge: '3eZbrw1aB' } },
    }),
    ApiBadRequestResponse({ description: 'The body is no JSON' }),
    ApiUnauthorizedResponse({ description: 'The credential or signature is missing, wrong or out of time' }),
    ApiNotFoundResponse({ description: 'The webhook is unknown, disabled or deleted' }),
    ApiMethodNotAllowedResponse({ description: 'Only POST is allowed' }),
    ApiPayloadTooLargeResponse({ description: 'The body is larger than 262,144 bytes' }),
    ApiTooManyRequestsResponse({
      description:
        'More deliveries, or failed authentications of this client, than fit into 60 seconds; `Retry-After` says when there is room',
    }),
    ApiServiceUnavailableResponse({ description: 'Our fault: send it again after `Retry-After` seconds' }),
  );

/**
 * Where senders deliver to, as the OpenAPI document describes it. In a process with the role `ingress` the handler in front of express
 * answers these addresses; what comes here came to a process without it.
 */
@ApiTags('Webhook ingress')
@Public()
@Controller('webhooks/w')
export class IngressController {
  @Post(':webhookUid')
  @describesIngress()
  @ApiOperation({
    operationId: 'deliver',
    summary: 'Deliver to a webhook, with `Authorization: Bearer <secret>` or signed by its provider',
  })
  deliver(@Param('webhookUid') _webhookUid: string): DeliveryAcceptedDto {
    throw Problem.notFound('webhook');
  }

  @Post(':webhookUid/:token')
  @describesIngress()
  @ApiOperation({
    operationId: 'deliverWithUrlToken',
    summary: 'Deliver to a webhook whose URL is the credential',
  })
  deliverWithToken(
    @Param('webhookUid') _webhookUid: string,
    @Param('token') _token: string,
  ): DeliveryAcceptedDto {
    throw Problem.notFound('webhook');
  }
}
