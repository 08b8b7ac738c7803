import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { TestFilter } from '../application/test-filter.js';
import {
  TestFilterRequest,
  TestFilterResponse,
  toFilterTrial,
  toTestFilterResponse,
} from './webhook-filter.dto.js';

@ApiTags('Automations')
@Controller('v1/webhook-filters')
export class WebhookFiltersController {
  constructor(private readonly testFilter: TestFilter) {}

  @Post('test')
  @HttpCode(200)
  @RequirePermission('factories:read')
  @ApiOperation({
    operationId: 'testWebhookFilter',
    summary: 'Try a filter on a delivery or a payload',
    description: 'It starts nothing. The filter need not belong to an automation.',
  })
  @ApiOkResponse({ type: TestFilterResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  async test(
    @CurrentAccount() caller: AccountCaller,
    @Body() request: TestFilterRequest,
  ): Promise<TestFilterResponse> {
    return toTestFilterResponse(await this.testFilter.execute(caller, toFilterTrial(request)));
  }
}
