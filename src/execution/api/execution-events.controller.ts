import { Body, Controller, HttpCode, Param, Patch, Post, UseGuards } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { CurrentExecution, RequirePermission, type RunCaller } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ReportExecution } from '../application/report-execution.js';
import { ExecutionHeaderGuard } from './execution-header.guard.js';
import {
  ClientEventDto,
  EventSequenceDto,
  LifecycleEventDto,
  LifecycleEventResponseDto,
} from './harness-support.dto.js';

/** Events that the agent of an execution reports about its run. */
@ApiTags('Harness support')
@UseGuards(ExecutionHeaderGuard)
@Controller('v1/agent')
export class ExecutionEventsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly report: ReportExecution,
  ) {}

  @Post('runs/:runId/client-events')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({ operationId: 'reportClientEvent', summary: "Add an event to the run's timeline" })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiNoContentResponse({ description: 'On the timeline, now or by an earlier report' })
  clientEvent(
    @CurrentExecution() execution: RunCaller,
    @Param('runId', UuidParam) runId: string,
    @Body() event: ClientEventDto,
  ): Promise<void> {
    requireOwnRun(execution, runId);
    return this.transactor.run((tx) => this.report.clientEvent(tx, execution, event));
  }

  @Post('events/:runId')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'reportLifecycleEvent',
    summary: 'Report that the agent is at work, waits for a person, or can be watched',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: LifecycleEventResponseDto })
  async lifecycleEvent(
    @CurrentExecution() execution: RunCaller,
    @Param('runId', UuidParam) runId: string,
    @Body() { event_type: type, ref_id: refId }: LifecycleEventDto,
  ): Promise<LifecycleEventResponseDto> {
    requireOwnRun(execution, runId);
    return { sequence: await this.report.event(execution, { type, refId: refId ?? null }) };
  }

  @Patch('runs/:runId/event-sequence')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'noteEventSequence',
    summary: 'Remember how far the agent has read the events that it follows',
    description: 'It is read with the run, so that a later execution goes on there. It never goes back.',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiNoContentResponse({ description: 'Remembered' })
  noteEventSequence(
    @CurrentExecution() execution: RunCaller,
    @Param('runId', UuidParam) runId: string,
    @Body() { sequence }: EventSequenceDto,
  ): Promise<void> {
    requireOwnRun(execution, runId);
    return this.transactor.run((tx) => this.report.noteEventSequence(tx, execution, sequence));
  }
}

function requireOwnRun(execution: RunCaller, runId: string): void {
  if (execution.runId !== runId) throw Problem.notFound('run');
}
