import { Controller, Get, Header, HttpCode, Param, Redirect } from '@nestjs/common';
import {
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
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { ReadConversation } from '../application/read-conversation.js';
import { ConversationResponse } from './conversation.dto.js';

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
    const result = await this.readConversation.ofRun(caller, runId);
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
}
