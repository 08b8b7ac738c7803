import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { ListWorkers } from '../application/list-workers.js';
import { toWorkersResponse, WorkersResponse } from './workers.dto.js';

@ApiTags('Workers')
@Controller('v1/agent/connected-self-hosted-workers')
export class WorkersController {
  constructor(private readonly listWorkers: ListWorkers) {}

  @Get()
  @RequirePermission('workers:read')
  @ApiOperation({
    operationId: 'listConnectedWorkers',
    summary: "List your team's self-hosted workers that are connected",
    description:
      'To whichever replica of the service. A worker that has vanished without a good-bye is still listed for up to 90 seconds.',
  })
  @ApiOkResponse({ type: WorkersResponse })
  async list(@CurrentAccount() caller: AccountCaller): Promise<WorkersResponse> {
    return toWorkersResponse(await this.listWorkers.execute(caller));
  }
}
