import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiCreatedResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import {
  type AccountCaller,
  CurrentAccount,
  ownershipFor,
  RequirePermission,
} from '../../identities/index.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateSchedule } from '../application/create-schedule.js';
import { DeleteSchedule } from '../application/delete-schedule.js';
import { ReadSchedules } from '../application/read-schedules.js';
import { ReplaceSchedule } from '../application/replace-schedule.js';
import { SwitchSchedule } from '../application/switch-schedule.js';
import { FiresResponse, toFiresResponse } from './fires.dto.js';
import { invalidRule, noSuchSchedule, tooManySchedules } from './schedule-problems.js';
import { ScheduleResponses } from './schedule-responses.js';
import {
  CreateScheduleRequest,
  DeleteScheduleResponse,
  ListSchedulesResponse,
  ReplaceScheduleRequest,
  ScheduleResponse,
  toSettings,
} from './schedule.dto.js';

const UNKNOWN = { description: 'No such schedule, or not one that the caller may know of' };
const WRONG = { description: 'A field is wrong; `errors` names it' };

@ApiTags('Schedules')
@Controller('v1/agent/schedules')
export class SchedulesController {
  constructor(
    private readonly transactor: Transactor,
    private readonly createSchedule: CreateSchedule,
    private readonly replaceSchedule: ReplaceSchedule,
    private readonly switchSchedule: SwitchSchedule,
    private readonly deleteSchedule: DeleteSchedule,
    private readonly schedules: ReadSchedules,
    private readonly responses: ScheduleResponses,
  ) {}

  @Post()
  @RequirePermission('schedules:write')
  @ApiOperation({ operationId: 'createSchedule', summary: 'Make a scheduled agent' })
  @ApiCreatedResponse({ type: ScheduleResponse })
  @ApiBadRequestResponse(WRONG)
  async create(
    @CurrentAccount() caller: AccountCaller,
    @Body() request: CreateScheduleRequest,
  ): Promise<ScheduleResponse> {
    const owner = ownershipFor(caller, request.team);
    const result = await this.createSchedule.execute(caller, owner, toSettings(request));
    switch (result.outcome) {
      case 'created':
        return this.responses.one(caller, result.schedule);
      case 'invalid':
        throw invalidRule(result);
      case 'limit_reached':
        throw tooManySchedules(result.limit);
    }
  }

  @Get()
  @RequirePermission('schedules:read')
  @ApiOperation({
    operationId: 'listSchedules',
    summary: 'List scheduled agents',
    description: 'Those of the team and your own, by name, whatever its case.',
  })
  @ApiOkResponse({ type: ListSchedulesResponse })
  async list(@CurrentAccount() caller: AccountCaller): Promise<ListSchedulesResponse> {
    return { schedules: await this.responses.all(caller, await this.schedules.list(caller)) };
  }

  @Get(':scheduleId')
  @RequirePermission('schedules:read')
  @ApiOperation({ operationId: 'getSchedule', summary: 'Read a scheduled agent' })
  @ApiOkResponse({ type: ScheduleResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('scheduleId', UuidParam) id: string,
  ): Promise<ScheduleResponse> {
    const schedule = await this.schedules.find(caller, id);
    if (schedule === undefined) throw noSuchSchedule();
    return this.responses.one(caller, schedule);
  }

  @Put(':scheduleId')
  @RequirePermission('schedules:write')
  @ApiOperation({
    operationId: 'replaceSchedule',
    summary: 'Set a scheduled agent anew',
    description:
      'What is left out becomes its default; `agent_config` alone stays as it is when it is left out.',
  })
  @ApiOkResponse({ type: ScheduleResponse })
  @ApiBadRequestResponse(WRONG)
  @ApiNotFoundResponse(UNKNOWN)
  async replace(
    @CurrentAccount() caller: AccountCaller,
    @Param('scheduleId', UuidParam) id: string,
    @Body() request: ReplaceScheduleRequest,
  ): Promise<ScheduleResponse> {
    const result = await this.replaceSchedule.execute(caller, id, toSettings(request));
    switch (result.outcome) {
      case 'replaced':
        return this.responses.one(caller, result.schedule);
      case 'invalid':
        throw invalidRule(result);
      case 'not_found':
        throw noSuchSchedule();
    }
  }

  @Delete(':scheduleId')
  @HttpCode(200)
  @RequirePermission('schedules:write')
  @ApiOperation({
    operationId: 'deleteSchedule',
    summary: 'Delete a scheduled agent',
    description: 'No run is started by it any more. Those that it has started stay.',
  })
  @ApiOkResponse({ type: DeleteScheduleResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async delete(
    @CurrentAccount() caller: AccountCaller,
    @Param('scheduleId', UuidParam) id: string,
  ): Promise<DeleteScheduleResponse> {
    if (!(await this.transactor.run((tx) => this.deleteSchedule.execute(tx, caller, id))))
      throw noSuchSchedule();
    return { success: true };
  }

  @Post(':scheduleId/pause')
  @HttpCode(200)
  @RequirePermission('schedules:write')
  @ApiOperation({
    operationId: 'pauseSchedule',
    summary: 'Pause a scheduled agent',
    description: 'It does not run until it is resumed. Pausing it again does nothing.',
  })
  @ApiOkResponse({ type: ScheduleResponse })
  @ApiNotFoundResponse(UNKNOWN)
  pause(
    @CurrentAccount() caller: AccountCaller,
    @Param('scheduleId', UuidParam) id: string,
  ): Promise<ScheduleResponse> {
    return this.switch(caller, id, false);
  }

  @Post(':scheduleId/resume')
  @HttpCode(200)
  @RequirePermission('schedules:write')
  @ApiOperation({
    operationId: 'resumeSchedule',
    summary: 'Resume a paused scheduled agent',
    description:
      'It goes on with its next tick; those of the pause are not made up for. Resuming it again does nothing.',
  })
  @ApiOkResponse({ type: ScheduleResponse })
  @ApiNotFoundResponse(UNKNOWN)
  resume(
    @CurrentAccount() caller: AccountCaller,
    @Param('scheduleId', UuidParam) id: string,
  ): Promise<ScheduleResponse> {
    return this.switch(caller, id, true);
  }

  @Get(':scheduleId/fires')
  @RequirePermission('schedules:read')
  @ApiOperation({
    operationId: 'listFires',
    summary: 'When a scheduled agent was due',
    description: 'The last 100 ticks, each fired, missed or failed, and the next ten to come.',
  })
  @ApiOkResponse({ type: FiresResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async fires(
    @CurrentAccount() caller: AccountCaller,
    @Param('scheduleId', UuidParam) id: string,
  ): Promise<FiresResponse> {
    const fires = await this.schedules.fires(caller, id);
    if (fires === undefined) throw noSuchSchedule();
    return toFiresResponse(fires);
  }

  private async switch(caller: AccountCaller, id: string, enabled: boolean): Promise<ScheduleResponse> {
    const schedule = await this.switchSchedule.execute(caller, id, enabled);
    if (schedule === undefined) throw noSuchSchedule();
    return this.responses.one(caller, schedule);
  }
}
