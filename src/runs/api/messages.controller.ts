import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import {
  type Caller,
  CurrentCaller,
  CurrentExecution,
  RequirePermission,
  type RunCaller,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ExchangeMessages } from '../application/exchange-messages.js';
import {
  ListMessagesQuery,
  RunMessageHeaderResponse,
  RunMessageResponse,
  SendMessageRequest,
  SendMessageResponse,
  toRunMessageHeader,
  toRunMessageResponse,
} from './messages.dto.js';

/** Messages to the agents of runs: follow-ups of people, and what the agents of one tree of runs tell each other. */
@ApiTags('Events')
@Controller('v1/agent/messages')
export class MessagesController {
  constructor(
    private readonly transactor: Transactor,
    private readonly messages: ExchangeMessages,
  ) {}

  @Get(':runId')
  @RequirePermission('runs:read')
  @ApiOperation({ operationId: 'listMessages', summary: 'List the messages to a run, without their texts' })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: RunMessageHeaderResponse, isArray: true })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  async list(
    @CurrentCaller() caller: Caller,
    @Param('runId', UuidParam) runId: string,
    @Query() { unread, since, limit }: ListMessagesQuery,
  ): Promise<RunMessageHeaderResponse[]> {
    const messages = await this.messages.list(caller, runId, {
      unread: unread === 'true',
      since: since === undefined ? undefined : new Date(since),
      limit,
    });
    if (messages === undefined) throw Problem.notFound('run');
    return messages.map(toRunMessageHeader);
  }

  @Post()
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'sendMessage',
    summary: "Send a message to the agents of other runs of one's tree",
    description:
      'To all of them or to none. A run that works is told at once; one that has ended gets it with its next execution, which this does not start.',
  })
  @ApiOkResponse({ type: SendMessageResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong, or a recipient is no run of the tree' })
  async send(
    @CurrentExecution() sender: RunCaller,
    @Body() { to, subject, body, sender_run_id: senderRunId }: SendMessageRequest,
  ): Promise<SendMessageResponse> {
    if (senderRunId !== undefined && senderRunId.toLowerCase() !== sender.runId) {
      throw Problem.invalid([{ field: 'sender_run_id', message: 'must be the run whose key this is' }]);
    }
    return this.transactor.run(async (tx) => {
      const sent = await this.messages.send(tx, sender, {
        to: to.map((runId) => runId.toLowerCase()),
        subject,
        body,
      });
      switch (sent.outcome) {
        case 'sent':
          return { message_ids: sent.messageIds };
        case 'unknown_recipient':
          throw Problem.invalid([{ field: 'to', message: `${sent.runId} is no run of this tree` }]);
        case 'too_many':
          throw new Problem('budget_exceeded', {
            detail: `At most 100 messages of 5,000,000 characters in all wait for the agent of a run: ${sent.runId} has them`,
          });
      }
    });
  }

  @Post(':messageId/delivered')
  @HttpCode(204)
  @RequirePermission('execution:report')
  @ApiOperation({ operationId: 'markMessageDelivered', summary: 'Say that the agent has been told' })
  @ApiParam({ name: 'messageId', format: 'uuid' })
  @ApiNoContentResponse({ description: 'It is delivered; no other execution gets it' })
  @ApiNotFoundResponse({ description: "No such message to the key's run" })
  @ApiConflictResponse({ description: 'It does not wait for this execution' })
  async delivered(
    @CurrentExecution() recipient: RunCaller,
    @Param('messageId', UuidParam) messageId: string,
  ): Promise<void> {
    const outcome = await this.transactor.run((tx) => this.messages.deliver(tx, recipient, messageId));
    switch (outcome) {
      case 'delivered':
        return;
      case 'not_found':
        throw Problem.notFound('message');
      case 'not_waiting':
        throw new Problem('conflict', {
          detail: 'The message does not wait for this execution',
          retryable: false,
        });
    }
  }

  @Post(':messageId/read')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({ operationId: 'readMessage', summary: 'Read a message; from then on it counts as read' })
  @ApiParam({ name: 'messageId', format: 'uuid' })
  @ApiOkResponse({ type: RunMessageResponse })
  @ApiNotFoundResponse({ description: "No such message to the key's run" })
  async read(
    @CurrentExecution() recipient: RunCaller,
    @Param('messageId', UuidParam) messageId: string,
  ): Promise<RunMessageResponse> {
    const message = await this.transactor.run((tx) => this.messages.read(tx, recipient, messageId));
    if (message === undefined) throw Problem.notFound('message');
    return toRunMessageResponse(message);
  }
}
