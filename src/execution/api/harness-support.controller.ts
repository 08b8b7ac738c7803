import { Body, Controller, Get, HttpCode, Post, Redirect, Req, UseGuards } from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiFoundResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import type { Request } from 'express';
import { AppConfig } from '../../config/app-config.js';
import { CurrentExecution, RequirePermission, type RunCaller } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { callerOrigin } from '../../kernel/http/caller-origin.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ReadExecution } from '../application/read-execution.js';
import { ExecutionLease } from '../application/execution-lease.js';
import { KeepTranscript } from '../application/keep-transcript.js';
import { ReportExecution } from '../application/report-execution.js';
import { ReportUsage } from '../application/report-usage.js';
import { ExecutionHeaderGuard } from './execution-header.guard.js';
import {
  ExecutionViewDto,
  ExternalConversationDto,
  ExternalConversationRequestDto,
  FinishTaskRequestDto,
  NotifyUserRequestDto,
  ReportShutdownRequestDto,
  SetUpFailureRequestDto,
  SetUpFailureResponseDto,
  TranscriptRequestDto,
  UploadTargetDto,
  UsageReportDto,
} from './harness-support.dto.js';

/** What the agent of an execution calls, with the run's own key. */
@ApiTags('Harness support')
@ApiUnauthorizedResponse({
  description: "Not a run's own key, or the execution has ended and its key with it",
})
@ApiConflictResponse({ description: 'The execution is over: stop the agent' })
@UseGuards(ExecutionHeaderGuard)
@Controller('v1/harness-support')
export class HarnessSupportController {
  constructor(
    private readonly transactor: Transactor,
    private readonly read: ReadExecution,
    private readonly lease: ExecutionLease,
    private readonly transcripts: KeepTranscript,
    private readonly report: ReportExecution,
    private readonly usage: ReportUsage,
    private readonly config: AppConfig,
  ) {}

  @Get('execution')
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'getExecution',
    summary: 'Read everything that a runner needs to execute its run',
  })
  @ApiOkResponse({ type: ExecutionViewDto })
  execution(@CurrentExecution() execution: RunCaller, @Req() request: Request): Promise<ExecutionViewDto> {
    return this.read.execute(execution, callerOrigin(request, this.config.publicUrl));
  }

  @Post('heartbeat')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({ operationId: 'sendHeartbeat', summary: 'Say that the agent is alive: renews the lease' })
  @ApiNoContentResponse({ description: 'The lease is renewed' })
  heartbeat(@CurrentExecution() execution: RunCaller): Promise<void> {
    return this.lease.renew(execution);
  }

  @Post('external-conversation')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({ operationId: 'openConversation', summary: 'Open the conversation of the run' })
  @ApiOkResponse({ type: ExternalConversationDto })
  async openConversation(
    @CurrentExecution() execution: RunCaller,
    @Body() request: ExternalConversationRequestDto,
  ): Promise<ExternalConversationDto> {
    const conversationId = await this.transactor.run((tx) =>
      this.transcripts.openConversation(tx, execution, request.format),
    );
    return { conversation_id: conversationId };
  }

  @Get('transcript')
  @Redirect()
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'getStoredTranscript',
    summary: 'Download the transcript of the conversation so far',
  })
  @ApiFoundResponse({ description: 'To a URL that needs no key and expires' })
  @ApiNotFoundResponse({ description: 'The run has no transcript yet' })
  async storedTranscript(
    @CurrentExecution() execution: RunCaller,
    @Req() request: Request,
  ): Promise<{ url: string; statusCode: 302 }> {
    const url = await this.transcripts.storedUrl(execution, callerOrigin(request, this.config.publicUrl));
    if (url === undefined) throw Problem.notFound('transcript');
    return { url, statusCode: 302 };
  }

  @Post('transcript')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({ operationId: 'getTranscriptTarget', summary: 'Ask where the raw transcript is to be put' })
  @ApiOkResponse({ type: UploadTargetDto })
  transcript(
    @CurrentExecution() execution: RunCaller,
    @Body() body: TranscriptRequestDto,
    @Req() request: Request,
  ): Promise<UploadTargetDto> {
    const origin = callerOrigin(request, this.config.publicUrl);
    return this.transactor.run((tx) => this.transcripts.target(tx, execution, body.conversation_id, origin));
  }

  @Post('block-snapshot')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'getBlockSnapshotTarget',
    summary: "Ask where a snapshot of the agent's terminal is to be put",
    description: 'JSON, read back at `GET /agent/conversations/{conversationId}/block-snapshot`.',
  })
  @ApiOkResponse({ type: UploadTargetDto })
  @ApiNotFoundResponse({ description: 'Not the conversation of this run' })
  blockSnapshot(
    @CurrentExecution() execution: RunCaller,
    @Body() body: TranscriptRequestDto,
    @Req() request: Request,
  ): Promise<UploadTargetDto> {
    const origin = callerOrigin(request, this.config.publicUrl);
    return this.transactor.run((tx) =>
      this.transcripts.blockSnapshotTarget(tx, execution, body.conversation_id, origin),
    );
  }

  @Post('usage')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'reportUsage',
    summary: 'Report what the execution has used of models so far; the last report counts',
  })
  @ApiNoContentResponse({ description: 'Taken note of' })
  reportUsage(@CurrentExecution() execution: RunCaller, @Body() report: UsageReportDto): Promise<void> {
    return this.transactor.run((tx) => this.usage.execute(tx, execution, report));
  }

  @Post('notify-user')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'notifyUser',
    summary: 'Tell the person who follows the run something',
    description: 'It is `user_notified` on the timeline of the run.',
  })
  @ApiNoContentResponse({ description: 'On the timeline' })
  notifyUser(
    @CurrentExecution() execution: RunCaller,
    @Body() { message }: NotifyUserRequestDto,
  ): Promise<void> {
    return this.transactor.run((tx) => this.report.notifyUser(tx, execution, message));
  }

  @Post('finish-task')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'finishTask',
    summary: 'Report the outcome; the first outcome of a run stands',
  })
  @ApiNoContentResponse({ description: 'Taken note of' })
  finishTask(@CurrentExecution() execution: RunCaller, @Body() request: FinishTaskRequestDto): Promise<void> {
    return this.transactor.run((tx) => this.report.finishTask(tx, execution, request));
  }

  @Post('report-setup-failure')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'reportSetUpFailure',
    summary: 'Report that the environment could not be set up',
    description:
      'The run FAILED with `environment_setup_failed`. With `session_debug_until` in the answer the runner keeps its session until then: ' +
      'heartbeats go on, and follow-ups come as messages. Without it, it ends as always.',
  })
  @ApiOkResponse({ type: SetUpFailureResponseDto })
  async reportSetUpFailure(
    @CurrentExecution() execution: RunCaller,
    @Body() request: SetUpFailureRequestDto,
  ): Promise<SetUpFailureResponseDto> {
    const until = await this.transactor.run((tx) => this.report.setUpFailure(tx, execution, request));
    return { session_debug_until: until?.toISOString() };
  }

  @Post('report-shutdown')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'reportShutdown',
    summary: 'Report the end of the execution',
    description:
      'The last call: the key dies with it. A run without an outcome FAILED: a clean end is no proof of success.',
  })
  @ApiNoContentResponse({ description: 'The execution has ended' })
  reportShutdown(
    @CurrentExecution() execution: RunCaller,
    @Body() request: ReportShutdownRequestDto,
  ): Promise<void> {
    return this.transactor.run((tx) => this.report.reportShutdown(tx, execution, request));
  }
}
