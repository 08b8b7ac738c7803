import { Body, Controller, Get, Header, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiForbiddenResponse,
  ApiHeader,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiPayloadTooLargeResponse,
  ApiQuery,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import {
  type AccountCaller,
  type Caller,
  CurrentAccount,
  CurrentCaller,
  RequirePermission,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CancelRun } from '../application/cancel-run.js';
import { conversationIsBusy } from '../application/conversation-is-busy.js';
import { DescribeRuns } from '../application/describe-runs.js';
import { FollowUpRun } from '../application/follow-up-run.js';
import { GetRun } from '../application/get-run.js';
import { ListRuns } from '../application/list-runs.js';
import { StartRun } from '../application/start-run.js';
import type { RunView } from '../domain/run-view.js';
import { FollowUpRequest } from './follow-up.dto.js';
import {
  attachmentsOf,
  CreateRunRequest,
  CreateRunResponse,
  toCreateRunResponse,
  toRunRequest,
} from './create-run.dto.js';
import {
  type CreationHeaders,
  CreationHeadersOf,
  IDEMPOTENCY_HEADER,
  SOURCE_HEADER,
} from './creation-headers.js';
import { ListRunsQuery, ListRunsResponse, toRunFilter } from './list-runs.dto.js';
import { METADATA_PARAMETER, MetadataPairs } from './metadata-pairs.js';
import { RunResponse, toRunResponse } from './run.dto.js';
import { TimelineResponse, toTimelineResponse } from './timeline.dto.js';

@ApiTags('Runs')
@Controller('v1/agent')
export class RunsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly startRun: StartRun,
    private readonly listRuns: ListRuns,
    private readonly getRun: GetRun,
    private readonly cancelRun: CancelRun,
    private readonly followUpRun: FollowUpRun,
    private readonly describeRuns: DescribeRuns,
  ) {}

  @Post('runs')
  @HttpCode(200)
  @RequirePermission('runs:create')
  @ApiOperation({ operationId: 'createRun', summary: 'Start a run' })
  @ApiOkResponse({ type: CreateRunResponse, description: 'The run is queued' })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiConflictResponse({
    description:
      'Another run continues the conversation at the moment (retryable), or the Idempotency-Key came before with another request',
  })
  @ApiHeader(IDEMPOTENCY_HEADER)
  @ApiHeader(SOURCE_HEADER)
  @ApiPayloadTooLargeResponse({ description: 'The body is larger than 72 MiB' })
  async create(
    @CurrentCaller() caller: Caller,
    @CreationHeadersOf() headers: CreationHeaders,
    @Body() request: CreateRunRequest,
  ): Promise<CreateRunResponse> {
    const { source, idempotencyKey: key, teamUid } = headers;
    const run = await this.startRun.execute(
      caller,
      toRunRequest(request, source),
      attachmentsOf(request),
      key === undefined ? undefined : { key, content: { request, source, teamUid } },
    );
    return toCreateRunResponse(run);
  }

  @Post('run')
  @HttpCode(200)
  @RequirePermission('runs:create')
  @ApiOperation({
    operationId: 'createRunAlias',
    summary: 'Start a run',
    description: 'The same as `POST /agent/runs`.',
  })
  @ApiOkResponse({ type: CreateRunResponse, description: 'The run is queued' })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiConflictResponse({
    description:
      'Another run continues the conversation at the moment (retryable), or the Idempotency-Key came before with another request',
  })
  @ApiHeader(IDEMPOTENCY_HEADER)
  @ApiHeader(SOURCE_HEADER)
  @ApiPayloadTooLargeResponse({ description: 'The body is larger than 72 MiB' })
  createAlias(
    @CurrentCaller() caller: Caller,
    @CreationHeadersOf() headers: CreationHeaders,
    @Body() request: CreateRunRequest,
  ): Promise<CreateRunResponse> {
    return this.create(caller, headers, request);
  }

  @Get('runs')
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'listRuns',
    summary: 'List runs',
    description:
      'The runs of your team and your own, the latest change first unless you ask for another order. Filters are combined: a run ' +
      'must match them all. No page repeats a run of an earlier one, and a run that does not change meanwhile is on one of them.',
  })
  @ApiQuery(METADATA_PARAMETER)
  @ApiOkResponse({ type: ListRunsResponse })
  @ApiBadRequestResponse({ description: 'A parameter is wrong; `errors` names it' })
  @ApiForbiddenResponse({ description: 'Metadata filtering is switched off on this installation' })
  @ApiNotFoundResponse({ description: 'No such ancestor run, or not one that the caller may know of' })
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: ListRunsQuery,
    @MetadataPairs() metadata: [key: string, value: string][],
  ): Promise<ListRunsResponse> {
    const page = await this.listRuns.execute(caller, {
      filter: toRunFilter(query, metadata),
      order: { sort: query.sort_by, order: query.sort_order },
      limit: query.limit,
      cursor: query.cursor,
    });
    if (page === undefined) throw Problem.notFound('ancestor run');
    return {
      runs: await this.toResponses(page.runs),
      page_info: { has_next_page: page.nextCursor !== undefined, next_cursor: page.nextCursor },
    };
  }

  @Get('runs/:runId')
  @RequirePermission('runs:read')
  @ApiOperation({ operationId: 'getRun', summary: 'Read a run' })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: RunResponse })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  async get(@CurrentCaller() caller: Caller, @Param('runId', UuidParam) runId: string): Promise<RunResponse> {
    const run = await this.getRun.execute(caller, runId);
    if (run === undefined) throw Problem.notFound('run');
    const [response] = await this.toResponses([run]);
    if (response === undefined) throw Problem.notFound('run');
    return response;
  }

  @Get('runs/:runId/timeline')
  @RequirePermission('runs:read')
  @ApiOperation({ operationId: 'getRunTimeline', summary: 'Read what happened to a run, in its order' })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: TimelineResponse })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  async timeline(
    @CurrentCaller() caller: Caller,
    @Param('runId', UuidParam) runId: string,
  ): Promise<TimelineResponse> {
    const events = await this.getRun.timeline(caller, runId);
    if (events === undefined) throw Problem.notFound('run');
    return toTimelineResponse(events);
  }

  @Post('runs/:runId/cancel')
  @HttpCode(200)
  @Header('Content-Type', 'application/json; charset=utf-8')
  @RequirePermission('runs:write')
  @ApiOperation({ operationId: 'cancelRun', summary: 'Cancel a queued or working run' })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({
    schema: { type: 'string', format: 'uuid', example: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' },
    description: 'The run is CANCELLED; its worker is being told',
  })
  @ApiBadRequestResponse({ description: 'The run has ended already' })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  @ApiConflictResponse({ description: 'The run is PENDING; try again in a moment' })
  @ApiUnprocessableEntityResponse({
    description: 'Runs of self-hosted workers, LOCAL and GITHUB_ACTION runs',
  })
  async cancel(
    @CurrentAccount() caller: AccountCaller,
    @Param('runId', UuidParam) runId: string,
  ): Promise<string> {
    const result = await this.transactor.run((tx) => this.cancelRun.execute(tx, caller, runId));
    switch (result.outcome) {
      case 'cancelled':
        return JSON.stringify(runId);
      case 'not_found':
        throw Problem.notFound('run');
      case 'unsupported_type':
        throw new Problem('operation_not_supported', { detail: 'Runs of this type cannot be cancelled' });
      case 'already_ended':
        throw new Problem('invalid_request', { detail: `The run has ended already: it is ${result.state}` });
      case 'pending':
        throw new Problem('conflict', {
          detail: 'The run is PENDING: it was just sent to a worker. Try again in a moment',
          retryable: true,
        });
    }
  }

  @Post('tasks/:runId/cancel')
  @HttpCode(200)
  @Header('Content-Type', 'application/json; charset=utf-8')
  @RequirePermission('runs:write')
  @ApiOperation({
    operationId: 'cancelRunAlias',
    summary: 'Cancel a queued or working run',
    description: 'The same as `POST /agent/runs/{runId}/cancel`.',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({
    schema: { type: 'string', format: 'uuid', example: '019c3f0e-7d3c-7a55-9a51-2f1f5a3b9c11' },
    description: 'The run is CANCELLED; its worker is being told',
  })
  @ApiBadRequestResponse({ description: 'The run has ended already' })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  @ApiConflictResponse({ description: 'The run is PENDING; try again in a moment' })
  @ApiUnprocessableEntityResponse({
    description: 'Runs of self-hosted workers, LOCAL and GITHUB_ACTION runs',
  })
  cancelAlias(
    @CurrentAccount() caller: AccountCaller,
    @Param('runId', UuidParam) runId: string,
  ): Promise<string> {
    return this.cancel(caller, runId);
  }

  @Post('runs/:runId/followups')
  @HttpCode(200)
  @RequirePermission('runs:write')
  @ApiOperation({
    operationId: 'followUpRun',
    summary: 'Send a follow-up message to a run',
    description:
      'A run that waits gets it with its prompt, one that works as the next message of its agent; one that has ended is queued again and resumes its conversation.',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({
    schema: { type: 'object', additionalProperties: false, example: {} },
    description: 'Accepted; what comes of it is read with the run',
  })
  @ApiBadRequestResponse({
    description: 'An empty message to a run that has no saved conversation to continue',
  })
  @ApiForbiddenResponse({ description: 'Too many messages wait for the agent already' })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  @ApiConflictResponse({ description: 'The run has ended and another one continues its conversation' })
  async followUp(
    @CurrentAccount() caller: AccountCaller,
    @Param('runId', UuidParam) runId: string,
    @Body() request: FollowUpRequest,
  ): Promise<Record<string, never>> {
    const outcome = await this.transactor.run((tx) => this.followUpRun.execute(tx, caller, runId, request));
    switch (outcome) {
      case 'accepted':
        return {};
      case 'not_found':
        throw Problem.notFound('run');
      case 'empty':
        throw Problem.invalid([
          {
            field: 'message',
            message: 'may be empty only where it continues the saved conversation of a run that has ended',
          },
        ]);
      case 'too_many':
        throw new Problem('budget_exceeded', {
          detail: 'At most 100 messages of 5,000,000 characters in all wait for the agent of a run',
        });
      case 'conversation_busy':
        throw conversationIsBusy();
    }
  }

  private async toResponses(runs: RunView[]): Promise<RunResponse[]> {
    const described = await this.describeRuns.execute(runs);
    return described.map(({ run, surroundings }) => toRunResponse(run, surroundings));
  }
}
