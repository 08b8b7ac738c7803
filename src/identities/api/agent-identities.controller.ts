import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateAgent } from '../application/create-agent.js';
import { DeleteAgent } from '../application/delete-agent.js';
import { ReadAgents } from '../application/read-agents.js';
import { UpdateAgent } from '../application/update-agent.js';
import type { AgentIdentity } from '../domain/agent-identity.js';
import type { AccountCaller, UserCaller } from '../domain/caller.js';
import {
  AgentIdentityResponse,
  CreateAgentIdentityRequest,
  ListAgentIdentitiesResponse,
  toAgentIdentityResponse,
  toAgentSettings,
  UpdateAgentIdentityRequest,
} from './agent-identity.dto.js';
import { CurrentAccount, CurrentUser, RequirePermission } from './require-permission.js';

@ApiTags('Agent identities')
@Controller('v1/agent/identities')
export class AgentIdentitiesController {
  constructor(
    private readonly transactor: Transactor,
    private readonly createAgent: CreateAgent,
    private readonly readAgents: ReadAgents,
    private readonly updateAgent: UpdateAgent,
    private readonly deleteAgent: DeleteAgent,
  ) {}

  @Post()
  @RequirePermission('agents:manage')
  @ApiOperation({ operationId: 'createAgentIdentity', summary: 'Make an agent identity of the team' })
  @ApiCreatedResponse({ type: AgentIdentityResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  async create(
    @CurrentUser() caller: UserCaller,
    @Body() request: CreateAgentIdentityRequest,
  ): Promise<AgentIdentityResponse> {
    const settings = { ...toAgentSettings(request), name: request.name };
    const agent = await this.transactor.run((tx) => this.createAgent.execute(tx, caller, settings));
    if (agent === undefined) {
      throw new Problem('budget_exceeded', {
        detail: 'The team has as many agent identities as its plan allows',
      });
    }
    return toAgentIdentityResponse(agent);
  }

  @Get()
  @RequirePermission('agents:read')
  @ApiOperation({ operationId: 'listAgentIdentities', summary: "List the team's agent identities" })
  @ApiOkResponse({ type: ListAgentIdentitiesResponse })
  async list(@CurrentAccount() caller: AccountCaller): Promise<ListAgentIdentitiesResponse> {
    return { agents: (await this.readAgents.list(caller)).map(toAgentIdentityResponse) };
  }

  @Get(':uid')
  @RequirePermission('agents:read')
  @ApiOperation({ operationId: 'getAgentIdentity', summary: 'Read an agent identity' })
  @ApiParam({ name: 'uid', format: 'uuid' })
  @ApiOkResponse({ type: AgentIdentityResponse })
  @ApiNotFoundResponse({ description: 'The team has no such agent identity' })
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
  ): Promise<AgentIdentityResponse> {
    return found(await this.readAgents.find(caller, uid));
  }

  @Put(':uid')
  @RequirePermission('agents:manage')
  @ApiOperation({
    operationId: 'updateAgentIdentity',
    summary: 'Change an agent identity',
    description:
      'What is left out or null stays as it is, what is empty (`""`, `[]`, `{}`) is cleared, a value replaces all that was there.',
  })
  @ApiParam({ name: 'uid', format: 'uuid' })
  @ApiOkResponse({ type: AgentIdentityResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'The team has no such agent identity' })
  @ApiConflictResponse({ description: 'It comes from the files of a factory whose mode is `repository`' })
  async update(
    @CurrentUser() caller: UserCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() request: UpdateAgentIdentityRequest,
  ): Promise<AgentIdentityResponse> {
    const settings = toAgentSettings(request);
    return found(await this.transactor.run((tx) => this.updateAgent.execute(tx, caller, uid, settings)));
  }

  @Delete(':uid')
  @HttpCode(204)
  @RequirePermission('agents:manage')
  @ApiOperation({
    operationId: 'deleteAgentIdentity',
    summary: 'Delete an agent identity together with all its API keys',
  })
  @ApiParam({ name: 'uid', format: 'uuid' })
  @ApiNoContentResponse({ description: 'The agent identity and its keys are gone' })
  @ApiBadRequestResponse({ description: 'It is the default agent of the team' })
  @ApiNotFoundResponse({ description: 'The team has no such agent identity' })
  async delete(@CurrentUser() caller: UserCaller, @Param('uid', UuidParam) uid: string): Promise<void> {
    const outcome = await this.transactor.run((tx) => this.deleteAgent.execute(tx, caller, uid));
    switch (outcome) {
      case 'deleted':
        return;
      case 'not_found':
        throw Problem.notFound('agent identity');
      case 'is_default':
        throw new Problem('invalid_request', { detail: 'A team keeps its default agent' });
    }
  }
}

function found(agent: AgentIdentity | undefined): AgentIdentityResponse {
  if (agent === undefined) throw Problem.notFound('agent identity');
  return toAgentIdentityResponse(agent);
}
