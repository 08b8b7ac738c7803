import { Controller, Get, Headers, Query, Req, Res } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiHeader,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiServiceUnavailableResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { ReadEvents } from '../application/read-events.js';
import type { FollowedRuns } from '../domain/run-event.js';
import { EventStreams } from './event-stream.js';
import {
  EventResponse,
  FollowRunsQuery,
  ListEventsQuery,
  resumeFrom,
  toEventResponse,
  toSelection,
} from './events.dto.js';

/** What happens to runs, in one order over all of them. */
@ApiTags('Events')
@ApiBadRequestResponse({ description: 'A parameter is wrong, or no run is named; `errors` names it' })
@ApiNotFoundResponse({ description: 'One of the runs does not exist, or the caller may not know of it' })
@Controller('v1/agent/events')
export class EventsController {
  constructor(
    private readonly events: ReadEvents,
    private readonly streams: EventStreams,
  ) {}

  @Get()
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'listEvents',
    summary: 'Read events of runs, by their sequence numbers',
    description:
      'A reader that asks for what comes after the last number it has seen misses nothing and sees nothing twice. Events are kept for a week.',
  })
  @ApiOkResponse({ type: EventResponse, isArray: true })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListEventsQuery): Promise<EventResponse[]> {
    const followed = await this.followed(caller, query);
    const events = await this.events.page(caller, followed, query.since ?? 0, query.limit);
    return events.map(toEventResponse);
  }

  @Get('stream')
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'streamEvents',
    summary: 'Follow events of runs as they happen',
    description:
      'Server-sent events: `id` is the sequence number, `data` one event as in the list. The stream ends after 14 minutes; a reader comes back ' +
      'with `since` or with the header that browsers send.',
  })
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'The last number seen; beats `since`' })
  @ApiOkResponse({
    description: 'The stream',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  })
  @ApiServiceUnavailableResponse({
    description: 'The service is stopping, or serves as many streams as it can',
  })
  async stream(
    @CurrentCaller() caller: Caller,
    @Query() query: FollowRunsQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const since = resumeFrom(query, lastEventId);
    const followed = await this.followed(caller, query);
    await this.streams.send(request, response, caller, { followed, since });
  }

  private async followed(caller: Caller, query: FollowRunsQuery): Promise<FollowedRuns> {
    const followed = await this.events.resolve(caller, toSelection(query));
    if (followed === undefined) throw Problem.notFound('run');
    return followed;
  }
}
