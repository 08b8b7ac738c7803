import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Database } from '../../kernel/persistence/database.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { Automations } from '../application/automations.js';
import { CreateAutomation } from '../application/create-automation.js';
import { DeleteAutomation } from '../application/delete-automation.js';
import { ReplaceAutomation } from '../application/replace-automation.js';
import {
  AutomationRequest,
  AutomationResponse,
  ListAutomationsResponse,
  toAutomationResponse,
  toAutomationSettings,
} from './automation.dto.js';

const WRONG = { description: 'A field is wrong; `errors` names it' };
const REFUSED = {
  description: 'The factory has an automation of this name already, or a repository defines the factory',
};
const NAME_TAKEN = 'The factory has an automation of this name already';

@ApiTags('Automations')
@Controller('v1')
export class AutomationsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly database: Database,
    private readonly automations: Automations,
    private readonly createAutomation: CreateAutomation,
    private readonly replaceAutomation: ReplaceAutomation,
    private readonly deleteAutomation: DeleteAutomation,
  ) {}

  @Get('factories/:uid/automations')
  @RequirePermission('factories:read')
  @ApiOperation({ operationId: 'listAutomations', summary: 'List the automations of a factory' })
  @ApiOkResponse({ type: ListAutomationsResponse })
  @ApiNotFoundResponse({ description: 'No such factory, or not one of the team' })
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) factoryUid: string,
  ): Promise<ListAutomationsResponse> {
    const automations = await this.automations.list(this.database, caller, factoryUid);
    return { automations: automations.map(toAutomationResponse) };
  }

  @Post('factories/:uid/automations')
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'createAutomation',
    summary: 'Make an automation',
    description: 'Its runs are created in the name of whoever edited it last, and belong to the team.',
  })
  @ApiCreatedResponse({ type: AutomationResponse })
  @ApiBadRequestResponse(WRONG)
  @ApiNotFoundResponse({ description: 'No such factory, or not one of the team' })
  @ApiConflictResponse(REFUSED)
  async create(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) factoryUid: string,
    @Body() request: AutomationRequest,
  ): Promise<AutomationResponse> {
    const settings = toAutomationSettings(request);
    const result = await this.transactor.run((tx) =>
      this.createAutomation.execute(tx, caller, factoryUid, settings),
    );
    switch (result.outcome) {
      case 'created':
        return toAutomationResponse(result.automation);
      case 'name_taken':
        throw new Problem('conflict', { detail: NAME_TAKEN });
      case 'limit_reached':
        throw new Problem('budget_exceeded', { detail: 'A factory has at most 1,000 automations' });
    }
  }

  @Get('automations/:uid')
  @RequirePermission('factories:read')
  @ApiOperation({ operationId: 'getAutomation', summary: 'Read an automation' })
  @ApiOkResponse({ type: AutomationResponse })
  @ApiNotFoundResponse({ description: 'No such automation, or not one of the team' })
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
  ): Promise<AutomationResponse> {
    return toAutomationResponse(await this.automations.find(this.database, caller, uid));
  }

  @Put('automations/:uid')
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'replaceAutomation',
    summary: 'Replace an automation',
    description: 'What is left out is as if it had never been set.',
  })
  @ApiOkResponse({ type: AutomationResponse })
  @ApiBadRequestResponse(WRONG)
  @ApiNotFoundResponse({ description: 'No such automation, or not one of the team' })
  @ApiConflictResponse(REFUSED)
  async replace(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() request: AutomationRequest,
  ): Promise<AutomationResponse> {
    const settings = toAutomationSettings(request);
    const result = await this.transactor.run((tx) =>
      this.replaceAutomation.execute(tx, caller, uid, settings),
    );
    switch (result.outcome) {
      case 'replaced':
        return toAutomationResponse(result.automation);
      case 'name_taken':
        throw new Problem('conflict', { detail: NAME_TAKEN });
      case 'gone':
        throw Problem.notFound('automation');
    }
  }

  @Delete('automations/:uid')
  @HttpCode(204)
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'deleteAutomation',
    summary: 'Delete an automation',
    description: 'What it has started stays.',
  })
  @ApiNoContentResponse({ description: 'It is gone' })
  @ApiNotFoundResponse({ description: 'No such automation, or not one of the team' })
  @ApiConflictResponse({ description: 'A repository defines the factory' })
  async delete(@CurrentAccount() caller: AccountCaller, @Param('uid', UuidParam) uid: string): Promise<void> {
    const deleted = await this.transactor.run((tx) => this.deleteAutomation.execute(tx, caller, uid));
    if (!deleted) throw Problem.notFound('automation');
  }
}
