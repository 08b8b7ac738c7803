import { Body, Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiForbiddenResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
  ApiUnauthorizedResponse,
} from '@nestjs/swagger';
import type { Request } from 'express';
import { AppConfig } from '../../config/app-config.js';
import { CurrentExecution, RequirePermission, type RunCaller } from '../../identities/index.js';
import { callerOrigin } from '../../kernel/http/caller-origin.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ReportArtifacts } from '../application/report-artifacts.js';
import {
  ArtifactUploadDto,
  ArtifactUploadRequestDto,
  CommitSnapshotRequestDto,
  CommittedSnapshotDto,
  ReportArtifactRequestDto,
  ReportedArtifactDto,
  SnapshotUploadRequestDto,
  SnapshotUploadsDto,
  toArtifactReport,
} from './execution-artifacts.dto.js';
import { ExecutionHeaderGuard } from './execution-header.guard.js';

/** What the agent of an execution has made, and where it puts the bytes. */
@ApiTags('Harness support')
@ApiUnauthorizedResponse({
  description: "Not a run's own key, or the execution has ended and its key with it",
})
@ApiConflictResponse({ description: 'The execution is over: stop the agent' })
@ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
@ApiForbiddenResponse({ description: 'The run has as many artifacts as it may' })
@UseGuards(ExecutionHeaderGuard)
@Controller('v1/harness-support')
export class ExecutionArtifactsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly artifacts: ReportArtifacts,
    private readonly config: AppConfig,
  ) {}

  @Post('report-artifact')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'reportArtifact',
    summary: 'Report what the agent has made',
    description:
      'A repeated report of the same plan, pull request, reference or upload answers with the same artifact. The content of a plan comes with ' +
      'its report; each report with another one adds a version. The bytes of a FILE or SCREENSHOT are put at an upload target before.',
  })
  @ApiOkResponse({ type: ReportedArtifactDto })
  async report(
    @CurrentExecution() execution: RunCaller,
    @Body() request: ReportArtifactRequestDto,
  ): Promise<ReportedArtifactDto> {
    const report = toArtifactReport(request);
    return { artifact_uid: await this.transactor.run((tx) => this.artifacts.report(tx, execution, report)) };
  }

  @Post('artifact-upload')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'openArtifactUpload',
    summary: 'Ask where the bytes of a FILE or SCREENSHOT are to be put',
    description: 'At most 100 MiB, put once. They become an artifact when they are reported, within a day.',
  })
  @ApiOkResponse({ type: ArtifactUploadDto })
  async upload(
    @CurrentExecution() execution: RunCaller,
    @Body() { artifact_type: type, mime_type: mimeType }: ArtifactUploadRequestDto,
    @Req() request: Request,
  ): Promise<ArtifactUploadDto> {
    const origin = callerOrigin(request, this.config.publicUrl);
    const { uid, target } = await this.transactor.run((tx) =>
      this.artifacts.uploadTarget(tx, execution, { type, mimeType }, origin),
    );
    return { artifact_uid: uid, upload_target: target };
  }

  @Post('upload-snapshot')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'openSnapshotUploads',
    summary: 'Ask where the files that the execution leaves behind are to be put',
    description:
      'At most 25 MiB each and 100 a run. A name that came before has the same place. With `mode` `checkpoint` they are put in the midst ' +
      'of the execution and count once they are committed: for one that does not live to leave anything at its end.',
  })
  @ApiOkResponse({ type: SnapshotUploadsDto, description: 'In the order of the files' })
  async snapshot(
    @CurrentExecution() execution: RunCaller,
    @Body() { files, mode, generation }: SnapshotUploadRequestDto,
    @Req() request: Request,
  ): Promise<SnapshotUploadsDto> {
    const origin = callerOrigin(request, this.config.publicUrl);
    const named = files.map((file) => ({ fileName: file.filename, mimeType: file.mime_type }));
    return {
      uploads: await this.transactor.run((tx) =>
        this.artifacts.snapshotTargets(
          tx,
          execution,
          { files: named, generation: mode === 'checkpoint' ? generation : undefined },
          origin,
        ),
      ),
    };
  }

  @Post('commit-snapshot')
  @HttpCode(200)
  @RequirePermission('execution:report')
  @ApiOperation({
    operationId: 'commitSnapshot',
    summary: 'Make files that have been put the checkpoint of the execution',
    description:
      'All of them or none: when one has not been put, the checkpoint of before stays. Earlier checkpoints are forgotten. A repeated call ' +
      'changes nothing.',
  })
  @ApiOkResponse({ type: CommittedSnapshotDto })
  async commitSnapshot(
    @CurrentExecution() execution: RunCaller,
    @Body() { generation, files }: CommitSnapshotRequestDto,
  ): Promise<CommittedSnapshotDto> {
    await this.transactor.run((tx) => this.artifacts.commitCheckpoint(tx, execution, generation, files));
    return { generation };
  }
}
