import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiNotFoundResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { ReadHandoff } from '../application/read-handoff.js';
import { HandoffAttachmentsResponse, toHandoffAttachments } from './handoff.dto.js';

@ApiTags('Runs')
@Controller('v1/agent')
export class HandoffController {
  constructor(private readonly readHandoff: ReadHandoff) {}

  @Get('runs/:runId/handoff/attachments')
  @Header('Cache-Control', 'no-store')
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'getHandoffAttachments',
    summary: 'Read what the latest ended execution of a run left behind',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: HandoffAttachmentsResponse })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  async attachments(
    @CurrentCaller() caller: Caller,
    @Param('runId', UuidParam) runId: string,
  ): Promise<HandoffAttachmentsResponse> {
    const files = await this.readHandoff.execute(caller, runId);
    if (files === undefined) throw Problem.notFound('run');
    return toHandoffAttachments(files);
  }
}
