import { Controller, Get, Header, Param, Query, StreamableFile } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { ListDeliveries } from '../application/list-deliveries.js';
import { ReadDelivery } from '../application/read-delivery.js';
import {
  DeliveryResponse,
  ListDeliveriesQuery,
  ListDeliveriesResponse,
  toDeliveryFilter,
  toDeliveryResponse,
} from './delivery.dto.js';

/** The log of what was delivered to a webhook. */
@ApiTags('Webhooks')
@Controller('v1/webhooks/:uid/deliveries')
export class DeliveriesController {
  constructor(
    private readonly listDeliveries: ListDeliveries,
    private readonly readDelivery: ReadDelivery,
  ) {}

  @Get()
  @RequirePermission('factories:read')
  @ApiOperation({
    operationId: 'listDeliveries',
    summary: 'List the deliveries of a webhook',
    description:
      'The latest first. At least the latest 50 and those of 7 days are kept; rejected ones are counted apart, of which a webhook keeps the ' +
      'latest 10,000 at most.',
  })
  @ApiOkResponse({ type: ListDeliveriesResponse })
  @ApiBadRequestResponse({ description: 'A parameter is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'No such webhook, or not one of the team' })
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Query() query: ListDeliveriesQuery,
  ): Promise<ListDeliveriesResponse> {
    const { limit, cursor } = query;
    const filter = toDeliveryFilter(query);
    const { deliveries, nextCursor } = await this.listDeliveries.execute(caller, uid, {
      filter,
      limit,
      cursor,
    });
    return {
      deliveries: deliveries.map((delivery) => toDeliveryResponse(delivery)),
      page_info: { has_next_page: nextCursor !== undefined, next_cursor: nextCursor },
    };
  }

  @Get(':deliveryId')
  @RequirePermission('factories:read')
  @ApiOperation({ operationId: 'getDelivery', summary: 'Read a delivery' })
  @ApiOkResponse({ type: DeliveryResponse })
  @ApiNotFoundResponse({ description: 'No such delivery of the webhook' })
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Param('deliveryId', UuidParam) deliveryId: string,
  ): Promise<DeliveryResponse> {
    const { delivery, evaluations } = await this.readDelivery.execute(caller, uid, deliveryId);
    return toDeliveryResponse(delivery, evaluations);
  }

  @Get(':deliveryId/payload')
  @RequirePermission('factories:read')
  // Downloaded, never displayed: it is whatever the sender wrote.
  @Header('Cache-Control', 'private, no-store')
  @Header('X-Content-Type-Options', 'nosniff')
  @Header('Content-Security-Policy', "sandbox; default-src 'none'")
  @ApiOperation({
    operationId: 'getDeliveryPayload',
    summary: 'Download what was delivered',
    description: 'The exact bytes of an accepted delivery. Of rejected ones and duplicates none are kept.',
  })
  @ApiOkResponse({ description: 'The bytes', content: { 'application/json': { schema: {} } } })
  @ApiNotFoundResponse({ description: 'No such delivery of the webhook, or it was not accepted' })
  async payload(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Param('deliveryId', UuidParam) deliveryId: string,
  ): Promise<StreamableFile> {
    const payload = await this.readDelivery.payload(caller, uid, deliveryId);
    return new StreamableFile(payload, {
      type: 'application/json',
      length: payload.length,
      disposition: `attachment; filename="delivery-${deliveryId}.json"`,
    });
  }
}
