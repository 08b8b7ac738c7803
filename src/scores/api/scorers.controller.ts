import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
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
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { CreateScorer } from '../application/create-scorer.js';
import { DeleteScorer } from '../application/delete-scorer.js';
import { ListResults } from '../application/list-results.js';
import { ReadScorers } from '../application/read-scorers.js';
import { ReplaceScorer } from '../application/replace-scorer.js';
import { MAX_SCORERS } from '../domain/scorer.js';
import { ListResultsQuery, ListResultsResponse, toResultFilter, toResultResponse } from './result.dto.js';
import {
  ListScorersResponse,
  ScorerRequest,
  ScorerResponse,
  toScorerResponse,
  toScorerSettings,
} from './scorer.dto.js';
import { ScorerIdParam } from './scorer-id-param.pipe.js';

@ApiTags('Scores')
@Controller('v1/scorers')
export class ScorersController {
  constructor(
    private readonly transactor: Transactor,
    private readonly createScorer: CreateScorer,
    private readonly readScorers: ReadScorers,
    private readonly replaceScorer: ReplaceScorer,
    private readonly deleteScorer: DeleteScorer,
    private readonly listResults: ListResults,
  ) {}

  @Post()
  @RequirePermission('scorers:write')
  @ApiOperation({ operationId: 'createScorer', summary: 'Make a scorer of the team' })
  @ApiCreatedResponse({ type: ScorerResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiConflictResponse({ description: 'The team has a scorer of that name that was made by the API' })
  async create(
    @CurrentAccount() caller: AccountCaller,
    @Body() request: ScorerRequest,
  ): Promise<ScorerResponse> {
    const settings = toScorerSettings(request);
    const outcome = await this.transactor.run((tx) => this.createScorer.execute(tx, caller, settings));
    switch (outcome.outcome) {
      case 'created':
        return toScorerResponse(outcome.scorer);
      case 'name_taken':
        throw nameTaken();
      case 'limit_reached':
        throw new Problem('budget_exceeded', {
          detail: `The team has ${String(MAX_SCORERS)} scorers, as many as it may have`,
        });
    }
  }

  @Get()
  @RequirePermission('scorers:read')
  @ApiOperation({ operationId: 'listScorers', summary: "List the team's scorers" })
  @ApiOkResponse({ type: ListScorersResponse })
  async list(@CurrentAccount() caller: AccountCaller): Promise<ListScorersResponse> {
    return { scorers: (await this.readScorers.list(caller)).map(toScorerResponse) };
  }

  @Get(':id')
  @RequirePermission('scorers:read')
  @ApiOperation({ operationId: 'getScorer', summary: 'Read a scorer' })
  @ApiParam({ name: 'id', type: 'integer' })
  @ApiOkResponse({ type: ScorerResponse })
  @ApiNotFoundResponse({ description: 'The team has no such scorer' })
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('id', ScorerIdParam) id: number,
  ): Promise<ScorerResponse> {
    const scorer = await this.readScorers.find(caller, id);
    if (scorer === undefined) throw Problem.notFound('scorer');
    return toScorerResponse(scorer);
  }

  @Put(':id')
  @RequirePermission('scorers:write')
  @ApiOperation({
    operationId: 'replaceScorer',
    summary: 'Change a scorer',
    description:
      'All of it is replaced: what is left out has its default. Runs that are being graded are graded by what it was.',
  })
  @ApiParam({ name: 'id', type: 'integer' })
  @ApiOkResponse({ type: ScorerResponse })
  @ApiBadRequestResponse({ description: 'A field is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'The team has no such scorer' })
  @ApiConflictResponse({
    description:
      'The team has another scorer of that name that was made by the API, or the definition of a factory says what it is',
  })
  async replace(
    @CurrentAccount() caller: AccountCaller,
    @Param('id', ScorerIdParam) id: number,
    @Body() request: ScorerRequest,
  ): Promise<ScorerResponse> {
    const settings = toScorerSettings(request);
    const outcome = await this.transactor.run((tx) => this.replaceScorer.execute(tx, caller, id, settings));
    switch (outcome.outcome) {
      case 'replaced':
        return toScorerResponse(outcome.scorer);
      case 'not_found':
        throw Problem.notFound('scorer');
      case 'of_definition':
        throw ofDefinition();
      case 'name_taken':
        throw nameTaken();
    }
  }

  @Delete(':id')
  @HttpCode(204)
  @RequirePermission('scorers:write')
  @ApiOperation({
    operationId: 'deleteScorer',
    summary: 'Delete a scorer',
    description: 'The scores that runs have by it remain.',
  })
  @ApiParam({ name: 'id', type: 'integer' })
  @ApiNoContentResponse({ description: 'It grades no more runs' })
  @ApiNotFoundResponse({ description: 'The team has no such scorer' })
  @ApiConflictResponse({ description: 'The definition of a factory says that it is there' })
  async delete(
    @CurrentAccount() caller: AccountCaller,
    @Param('id', ScorerIdParam) id: number,
  ): Promise<void> {
    const outcome = await this.transactor.run((tx) => this.deleteScorer.execute(tx, caller, id));
    switch (outcome) {
      case 'deleted':
        return;
      case 'not_found':
        throw Problem.notFound('scorer');
      case 'of_definition':
        throw ofDefinition();
    }
  }

  @Get(':id/results')
  @RequirePermission('scorers:read')
  @ApiOperation({
    operationId: 'listScorerResults',
    summary: 'List the results of a scorer over time',
    description: 'The verdicts that judges have reported, the latest evaluation first.',
  })
  @ApiParam({ name: 'id', type: 'integer' })
  @ApiOkResponse({ type: ListResultsResponse })
  @ApiBadRequestResponse({ description: 'A parameter is wrong; `errors` names it' })
  @ApiNotFoundResponse({ description: 'The team has no such scorer' })
  async results(
    @CurrentAccount() caller: AccountCaller,
    @Param('id', ScorerIdParam) id: number,
    @Query() query: ListResultsQuery,
  ): Promise<ListResultsResponse> {
    const page = await this.listResults.execute(caller, id, {
      filter: toResultFilter(query),
      limit: query.limit,
      cursor: query.cursor,
    });
    if (page === undefined) throw Problem.notFound('scorer');
    return {
      results: page.results.map(toResultResponse),
      page_info: { has_next_page: page.nextCursor !== undefined, next_cursor: page.nextCursor },
    };
  }
}

const nameTaken = (): Problem =>
  new Problem('conflict', {
    detail: 'The team has a scorer of that name that was made by the API',
    retryable: false,
  });

const ofDefinition = (): Problem =>
  new Problem('conflict', {
    detail: 'The scorer is part of the definition of a factory: change it there',
    retryable: false,
  });
