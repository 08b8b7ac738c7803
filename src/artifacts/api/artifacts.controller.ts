import { Body, Controller, Get, Header, HttpCode, Param, Patch, Query, Redirect } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiFoundResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import {
  type AccountCaller,
  AnonymousOr,
  type Caller,
  CurrentAccount,
  CurrentCaller,
  OptionalCaller,
  RequirePermission,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { PublishArtifact } from '../application/publish-artifact.js';
import { ReadArtifact } from '../application/read-artifact.js';
import { RunArtifacts } from '../application/run-artifacts.js';
import {
  ArtifactResponse,
  ExternalReferenceQuery,
  PublishArtifactRequest,
  PublishedArtifactResponse,
  ReportingRunResponse,
  toArtifactResponse,
} from './artifact.dto.js';

@ApiTags('Artifacts')
@Controller('v1/agent')
export class ArtifactsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly readArtifact: ReadArtifact,
    private readonly publishArtifact: PublishArtifact,
    private readonly runArtifacts: RunArtifacts,
  ) {}

  @Get('artifacts/:artifactUid')
  @AnonymousOr('runs:read')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({
    operationId: 'getArtifact',
    summary: 'Read a plan, or ask where a file is to be had',
    description: 'Public artifacts need no key; without one, any other answers 401.',
  })
  @ApiParam({ name: 'artifactUid', format: 'uuid' })
  @ApiOkResponse({ type: ArtifactResponse })
  @ApiNotFoundResponse({
    description: 'No such artifact, not one that the caller may know of, or one of a type without content',
  })
  async get(
    @OptionalCaller() caller: Caller | undefined,
    @Param('artifactUid', UuidParam) uid: string,
  ): Promise<ArtifactResponse> {
    return toArtifactResponse(await this.readArtifact.execute(caller, uid));
  }

  @Get('artifacts/:artifactUid/download')
  @HttpCode(302)
  @Redirect()
  @AnonymousOr('runs:read')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({
    operationId: 'downloadArtifact',
    summary: 'Download a file',
    description: 'Public artifacts need no key; without one, any other answers 401.',
  })
  @ApiParam({ name: 'artifactUid', format: 'uuid' })
  @ApiFoundResponse({ description: 'To a URL that needs no key and expires' })
  @ApiNotFoundResponse({
    description: 'No such artifact, not one that the caller may know of, or not a file',
  })
  async download(
    @OptionalCaller() caller: Caller | undefined,
    @Param('artifactUid', UuidParam) uid: string,
  ): Promise<{ url: string; statusCode: 302 }> {
    const readable = await this.readArtifact.execute(caller, uid);
    if (readable.kind !== 'file') throw Problem.notFound('file');
    return { url: readable.downloadUrl, statusCode: 302 };
  }

  @Patch('artifacts/:artifactUid')
  @RequirePermission('runs:write')
  @ApiOperation({ operationId: 'publishArtifact', summary: 'Make an artifact public or private' })
  @ApiParam({ name: 'artifactUid', format: 'uuid' })
  @ApiOkResponse({ type: PublishedArtifactResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'No such artifact, or not one that the caller may know of' })
  async publish(
    @CurrentAccount() caller: AccountCaller,
    @Param('artifactUid', UuidParam) uid: string,
    @Body() request: PublishArtifactRequest,
  ): Promise<PublishedArtifactResponse> {
    const found = await this.transactor.run((tx) =>
      this.publishArtifact.execute(tx, caller, uid, request.public),
    );
    if (!found) throw Problem.notFound('artifact');
    return { artifact_uid: uid, public: request.public };
  }

  @Get('run-by-external-reference')
  @RequirePermission('runs:read')
  @ApiOperation({
    operationId: 'getRunByExternalReference',
    summary: 'Find the run that reported an external reference',
    description: 'Of several runs, the one that reported it last.',
  })
  @ApiOkResponse({ type: ReportingRunResponse })
  @ApiBadRequestResponse({ description: 'No `url`, or one that is too long' })
  @ApiNotFoundResponse({ description: 'No run that the caller may know of has reported it' })
  async runByExternalReference(
    @CurrentCaller() caller: Caller,
    @Query() { url }: ExternalReferenceQuery,
  ): Promise<ReportingRunResponse> {
    const runId = await this.runArtifacts.reporterOf(caller, url);
    if (runId === undefined) throw Problem.notFound('run');
    return { run_id: runId };
  }
}
