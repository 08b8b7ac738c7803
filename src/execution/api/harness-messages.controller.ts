import { Body, Controller, Get, HttpCode, Post, UseGuards } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import { CurrentExecution, RequirePermission, type RunCaller } from '../../identities/index.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { HandOverMessages } from '../application/hand-over-messages.js';
import { ExecutionHeaderGuard } from './execution-header.guard.js';
import {
  DeliveredMessagesDto,
  ResolvedPromptDto,
  ResolvePromptRequestDto,
  toWaitingMessages,
  WaitingMessagesDto,
} from './harness-support.dto.js';

/** What the agent of an execution is told: its prompt, and what people say while it is at work. */
@ApiTags('Harness support')
@ApiUnauthorizedResponse({
  description: "Not a run's own key, or the execution has ended and its key with it",
})
@ApiConflictResponse({ description: 'The execution is over: stop the agent' })
@UseGuards(ExecutionHeaderGuard)
@Controller('v1/harness-support')
export class HarnessMessagesController {
  constructor(
    private readonly transactor: Transactor,
    private readonly messages: HandOverMessages,
  ) {}

  @Post('resolve-prompt')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'resolvePrompt',
    summary: 'Get the texts for the agent',
    description:
      'The prompt and the follow-ups that wait, for a continuation the follow-ups alone. They are delivered with this; a repeated call gets the same.',
  })
  @ApiOkResponse({ type: ResolvedPromptDto })
  resolvePrompt(
    @CurrentExecution() execution: RunCaller,
    @Body() request: ResolvePromptRequestDto,
  ): Promise<ResolvedPromptDto> {
    return this.transactor.run((tx) => this.messages.resolvePrompt(tx, execution, request));
  }

  @Get('messages')
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'getWaitingMessages',
    summary: 'Read the messages that have come since the prompt',
    description:
      'In their order, and only those that no agent has been told. It changes nothing: what is not delivered is given to the next execution.',
  })
  @ApiOkResponse({ type: WaitingMessagesDto })
  async waitingMessages(@CurrentExecution() execution: RunCaller): Promise<WaitingMessagesDto> {
    return toWaitingMessages(await this.transactor.run((tx) => this.messages.waiting(tx, execution)));
  }

  @Post('messages/delivered')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'deliverMessages',
    summary: 'Say that the agent is told these messages now',
    description: 'From then on no other execution gets them. A repeated call changes nothing.',
  })
  @ApiNoContentResponse({ description: 'They are delivered' })
  @ApiBadRequestResponse({ description: 'One of them does not wait for this execution; none was delivered' })
  deliverMessages(
    @CurrentExecution() execution: RunCaller,
    @Body() { message_ids: ids }: DeliveredMessagesDto,
  ): Promise<void> {
    return this.transactor.run((tx) => this.messages.deliver(tx, execution, ids));
  }
}
