import { Body, Controller, Header, HttpCode, Param, Post, Req } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiForbiddenResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import type { Request } from 'express';
import { AppConfig } from '../../config/app-config.js';
import { type Caller, CurrentCaller, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { callerOrigin } from '../../kernel/http/caller-origin.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ExchangeAttachments } from '../application/exchange-attachments.js';
import {
  DownloadableAttachmentsResponse,
  DownloadAttachmentsRequest,
  PrepareAttachmentsRequest,
  PreparedAttachmentsResponse,
  toDownloadableAttachments,
  toPreparedAttachments,
} from './attachments.dto.js';

@ApiTags('Runs')
@ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
@ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
@Controller('v1/agent/runs/:runId/attachments')
export class AttachmentsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly attachments: ExchangeAttachments,
    private readonly config: AppConfig,
  ) {}

  @Post('prepare')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @RequirePermission('runs:create')
  @ApiOperation({
    operationId: 'prepareAttachments',
    summary: 'Ask where the bytes of files for a run are to be put',
    description:
      'At most 10 MiB each, and 100 a run. The next execution of the run finds those in place that have been put by then.',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: PreparedAttachmentsResponse })
  @ApiForbiddenResponse({ description: 'The run has as many attachments as it may' })
  async prepare(
    @CurrentCaller() caller: Caller,
    @Param('runId', UuidParam) runId: string,
    @Body() { files }: PrepareAttachmentsRequest,
    @Req() request: Request,
  ): Promise<PreparedAttachmentsResponse> {
    const named = files.map(({ filename, mime_type }) => ({ fileName: filename, mimeType: mime_type }));
    const origin = callerOrigin(request, this.config.publicUrl);
    const result = await this.transactor.run((tx) =>
      this.attachments.prepare(tx, caller, runId, named, origin),
    );
    switch (result.outcome) {
      case 'prepared':
        return toPreparedAttachments(result.attachments);
      case 'not_found':
        throw Problem.notFound('run');
      case 'too_many':
        throw new Problem('budget_exceeded', { detail: 'A run has at most 100 attachments' });
    }
  }

  @Post('download')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'downloadAttachments',
    summary: 'Ask where files of a run are to be had',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: DownloadableAttachmentsResponse })
  async download(
    @CurrentCaller() caller: Caller,
    @Param('runId', UuidParam) runId: string,
    @Body() { attachment_ids: ids }: DownloadAttachmentsRequest,
    @Req() request: Request,
  ): Promise<DownloadableAttachmentsResponse> {
    const origin = callerOrigin(request, this.config.publicUrl);
    const found = await this.attachments.download(caller, runId, ids, origin);
    if (found === undefined) throw Problem.notFound('run');
    return toDownloadableAttachments(found);
  }
}
