import { Controller, Get, Header, HttpCode, Param, Redirect } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiFoundResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import { type Caller, CurrentCaller, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Public } from '../../kernel/http/access.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { type ConversationOutcome, ReadConversation } from '../application/read-conversation.js';
import { ConversationLinkResponse, ConversationResponse } from './conversation.dto.js';

@ApiTags('Conversations')
@Controller('v1/agent')
export class ConversationsController {
  constructor(private readonly readConversation: ReadConversation) {}

  @Get('runs/:runId/conversation')
  @RequirePermission('runs:read')
  @ApiOperation({ operationId: 'getRunConversation', summary: 'Read what the agent of a run said and did' })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: ConversationResponse })
  @ApiNotFoundResponse({ description: 'No such run, or it has no conversation yet' })
  @ApiUnprocessableEntityResponse({ description: 'The conversation is in a format that has no normal form' })
  async ofRun(
    @CurrentCaller() caller: Caller,
    @Param('runId', UuidParam) runId: string,
  ): Promise<ConversationResponse> {
    return toConversationResponse(await this.readConversation.ofRun(caller, runId));
  }

  @Get('runs/:runId/transcript')
  @HttpCode(302)
  @Redirect()
  @Header('Cache-Control', 'no-store')
  @RequirePermission('runs:read')
  @ApiOperation({ operationId: 'getRunTranscript', summary: 'Download the raw transcript of a run' })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiFoundResponse({ description: 'To a URL that needs no key and expires' })
  @ApiNotFoundResponse({ description: 'No such run, or it has no transcript yet' })
  async transcript(
    @CurrentCaller() caller: Caller,
    @Param('runId', UuidParam) runId: string,
  ): Promise<{ url: string; statusCode: 302 }> {
    const url = await this.readConversation.transcriptUrl(caller, runId);
    if (url === undefined) throw Problem.notFound('transcript');
    return { url, statusCode: 302 };
  }

  @Get('conversations/:conversationId')
  @RequirePermission('runs:read')
  @ApiOperation({ operationId: 'getConversation', summary: 'Read a conversation, of however many runs' })
  @ApiParam({ name: 'conversationId', format: 'uuid' })
  @ApiOkResponse({ type: ConversationResponse })
  @ApiNotFoundResponse({ description: 'No conversation of a run that the caller may know of' })
  @ApiUnprocessableEntityResponse({ description: 'The conversation is in a format that has no normal form' })
  async get(
    @CurrentCaller() caller: Caller,
    @Param('conversationId', UuidParam) conversationId: string,
  ): Promise<ConversationResponse> {
    return toConversationResponse(await this.readConversation.byId(caller, conversationId));
  }

  @Get('conversations/:conversationId/transcript')
  @HttpCode(302)
  @Redirect()
  @Header('Cache-Control', 'no-store')
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'getConversationTranscript',
    summary: 'Download the raw transcript of a conversation with a third-party agent',
  })
  @ApiParam({ name: 'conversationId', format: 'uuid' })
  @ApiFoundResponse({ description: 'To a URL that needs no key and expires' })
  @ApiBadRequestResponse({
    description: 'A conversation of the built-in harness: read it in its normal form',
  })
  @ApiNotFoundResponse({
    description: 'No conversation of a run that the caller may know of, or it has no transcript yet',
  })
  async transcriptById(
    @CurrentCaller() caller: Caller,
    @Param('conversationId', UuidParam) conversationId: string,
  ): Promise<{ url: string; statusCode: 302 }> {
    const result = await this.readConversation.transcriptUrlById(caller, conversationId);
    switch (result.outcome) {
      case 'found':
        return { url: result.url, statusCode: 302 };
      case 'not_found':
        throw Problem.notFound('transcript');
      case 'built_in_format':
        throw new Problem('invalid_request', {
          detail:
            'Conversations of the built-in harness have no transcript of their own: read the conversation',
        });
    }
  }

  @Get('conversations/:conversationId/block-snapshot')
  @HttpCode(302)
  @Redirect()
  @Header('Cache-Control', 'no-store')
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'getBlockSnapshot',
    summary: "Download what the terminal of a conversation's agent showed",
  })
  @ApiParam({ name: 'conversationId', format: 'uuid' })
  @ApiFoundResponse({ description: 'To a URL that needs no key and expires' })
  @ApiNotFoundResponse({
    description: 'No conversation of a run that the caller may know of, or it has no snapshot yet',
  })
  async blockSnapshot(
    @CurrentCaller() caller: Caller,
    @Param('conversationId', UuidParam) conversationId: string,
  ): Promise<{ url: string; statusCode: 302 }> {
    const url = await this.readConversation.blockSnapshotUrl(caller, conversationId);
    if (url === undefined) throw Problem.notFound('snapshot');
    return { url, statusCode: 302 };
  }

  @Get('conversations/:conversationId/redirect')
  @Public()
  @ApiOperation({
    operationId: 'redirectConversation',
    summary: 'Ask where the link to a conversation leads',
    description: 'Needs no key. Says nothing of what the conversation holds.',
  })
  @ApiParam({ name: 'conversationId', format: 'uuid' })
  @ApiOkResponse({ type: ConversationLinkResponse })
  async redirect(
    @Param('conversationId', UuidParam) conversationId: string,
  ): Promise<ConversationLinkResponse> {
    return (await this.readConversation.isAtRest(conversationId)) ? { conversation_id: conversationId } : {};
  }

  @Get('sessions/:sessionUuid/redirect')
  @Public()
  @ApiOperation({
    operationId: 'redirectSession',
    summary: 'Ask where the link to a session leads',
    description: 'Needs no key. Sessions are not shared in this version, so none is known.',
  })
  @ApiParam({ name: 'sessionUuid', format: 'uuid' })
  @ApiOkResponse({ type: ConversationLinkResponse })
  redirectSession(@Param('sessionUuid', UuidParam) _sessionUuid: string): ConversationLinkResponse {
    return {};
  }
}

function toConversationResponse(result: ConversationOutcome): ConversationResponse {
  switch (result.outcome) {
    case 'found':
      return result.conversation;
    case 'not_found':
      throw Problem.notFound('conversation');
    case 'format_not_supported':
      throw new Problem('operation_not_supported', {
        detail: `A conversation of the format ${result.format} cannot be normalised`,
      });
  }
}
