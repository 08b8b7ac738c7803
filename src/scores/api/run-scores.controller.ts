import { Body, Controller, Get, HttpStatus, Param, Post, Res } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiForbiddenResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiResponse,
  ApiTags,
  ApiUnprocessableEntityResponse,
} from '@nestjs/swagger';
import type { Response } from 'express';
import {
  type AccountCaller,
  CurrentAccount,
  CurrentExecution,
  RequirePermission,
  type RunCaller,
} from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ReadRunScores } from '../application/read-run-scores.js';
import { ReportScores } from '../application/report-scores.js';
import { RequestEvaluation } from '../application/request-evaluation.js';
import { EvaluationsResponse, RequestEvaluationRequest, toEvaluationResponse } from './evaluation.dto.js';
import {
  ReportScoresRequest,
  ReportScoresResponse,
  toRulingResponse,
  toVerdict,
} from './report-scores.dto.js';
import { RunScoresResponse, toRunScoreResponse } from './run-score.dto.js';

@ApiTags('Scores')
@Controller('v1/agent/runs/:runId')
export class RunScoresController {
  constructor(
    private readonly transactor: Transactor,
    private readonly reportScores: ReportScores,
    private readonly readRunScores: ReadRunScores,
    private readonly requestEvaluation: RequestEvaluation,
  ) {}

  @Post('scores')
  @RequirePermission('scores:report')
  @ApiOperation({
    operationId: 'reportScores',
    summary: 'Report what a judge makes of a run',
    description:
      "With the key of the judge's own run; `runId` is the run that it grades. Each verdict is taken or rejected on its own, and one " +
      'that is sent again replaces the earlier one. A scorer that stands in the request twice is taken the first time.',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: ReportScoresResponse, description: 'All verdicts were accepted' })
  @ApiResponse({ status: 206, type: ReportScoresResponse, description: 'Some verdicts were rejected' })
  @ApiBadRequestResponse({ description: 'The body has not the form of a report; `errors` names the field' })
  @ApiForbiddenResponse({ description: 'The key is not that of a judge of this run' })
  async report(
    @CurrentExecution() judge: RunCaller,
    @Param('runId', UuidParam) runId: string,
    @Body() request: ReportScoresRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ReportScoresResponse> {
    const verdicts = request.results.map(toVerdict);
    const report = await this.transactor.run((tx) => this.reportScores.execute(tx, judge, runId, verdicts));
    switch (report.outcome) {
      case 'reported': {
        const isWhole = report.rulings.every(({ outcome }) => outcome === 'accepted');
        response.status(isWhole ? HttpStatus.OK : HttpStatus.PARTIAL_CONTENT);
        return { results: report.rulings.map(toRulingResponse) };
      }
      case 'not_its_judge':
        throw new Problem('not_authorized', { detail: 'The key is not that of a judge of this run' });
    }
  }

  @Get('scores')
  @RequirePermission('scores:read')
  @ApiOperation({
    operationId: 'listRunScores',
    summary: 'Read the scores of a run',
    description: 'Also those that its judges have yet to give.',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiOkResponse({ type: RunScoresResponse })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  async list(
    @CurrentAccount() caller: AccountCaller,
    @Param('runId', UuidParam) runId: string,
  ): Promise<RunScoresResponse> {
    const scores = await this.readRunScores.execute(caller, runId);
    if (scores === undefined) throw Problem.notFound('run');
    return { scores: scores.map(toRunScoreResponse) };
  }

  @Post('evaluations')
  @RequirePermission('evaluations:create')
  @ApiOperation({
    operationId: 'requestEvaluation',
    summary: 'Have a run graded',
    description:
      'Whatever the sampling rates say, and however often. There is one judge for each judge model and harness of the scorers; its run ' +
      'begins in a moment.',
  })
  @ApiParam({ name: 'runId', format: 'uuid' })
  @ApiCreatedResponse({ type: EvaluationsResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'No such run, or not one that the caller may know of' })
  @ApiConflictResponse({ description: 'The run, or its execution, has not ended yet; try again when it has' })
  @ApiUnprocessableEntityResponse({
    description: 'The run of a judge, one that a judge has started, or one that a person owns',
  })
  async evaluate(
    @CurrentAccount() caller: AccountCaller,
    @Param('runId', UuidParam) runId: string,
    @Body() request: RequestEvaluationRequest,
  ): Promise<EvaluationsResponse> {
    const outcome = await this.requestEvaluation.execute(caller, runId, request.scorer_ids ?? undefined);
    switch (outcome.outcome) {
      case 'requested':
        return { evaluations: outcome.evaluations.map(toEvaluationResponse) };
      case 'not_found':
        throw Problem.notFound('run');
      case 'not_gradable':
        throw new Problem('operation_not_supported', {
          detail: 'Judges grade the runs of a team, and neither those of judges nor what those have started',
        });
      case 'not_ended':
        throw new Problem('conflict', {
          detail: 'The run, or its execution, has not ended yet',
          retryable: true,
        });
      case 'unknown_scorers':
        throw invalidScorers(`must be scorers of the team; ${outcome.ids.join(', ')} are none`);
      case 'no_scorers':
        throw invalidScorers('must be given: no scorer grades the agent that executed the run');
    }
  }
}

const invalidScorers = (message: string): Problem => Problem.invalid([{ field: 'scorer_ids', message }]);
