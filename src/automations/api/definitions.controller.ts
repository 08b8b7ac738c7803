import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { type AccountCaller, CurrentAccount, RequirePermission } from '../../identities/index.js';
import { Problem } from '../../kernel/errors/problem.js';
import { Public } from '../../kernel/http/access.js';
import { UuidParam } from '../../kernel/http/uuid-param.pipe.js';
import { Transactor } from '../../kernel/persistence/transactor.js';
import { ApplyDefinition } from '../application/apply-definition.js';
import { ExportDefinition } from '../application/export-definition.js';
import type { Definition, DefinitionError } from '../domain/definition.js';
import { DEFINITION_KINDS, jsonSchemaOf } from '../domain/definition-schemas.js';
import { parseDefinition } from '../domain/parse-definition.js';
import {
  ApplyDefinitionRequest,
  ApplyDefinitionResponse,
  DefinitionResponse,
  toApplyDefinitionResponse,
} from './definition.dto.js';

const UNKNOWN = { description: 'No such factory, or not one of the team' };

@ApiTags('Definitions')
@Controller('v1')
export class DefinitionsController {
  constructor(
    private readonly transactor: Transactor,
    private readonly applyDefinition: ApplyDefinition,
    private readonly exportDefinition: ExportDefinition,
  ) {}

  @Get('factories/:uid/definition')
  @RequirePermission('factories:read')
  @ApiOperation({
    operationId: 'getFactoryDefinition',
    summary: 'Read a factory as the files that define it',
    description:
      'Applied again they change nothing. While a webhook awaits its secret (`awaiting_secret`) they are refused: its `secretName` names a secret that the team does not have yet.',
  })
  @ApiOkResponse({ type: DefinitionResponse })
  @ApiNotFoundResponse(UNKNOWN)
  async get(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
  ): Promise<DefinitionResponse> {
    return { files: await this.transactor.run((tx) => this.exportDefinition.execute(tx, caller, uid)) };
  }

  @Post('factories/:uid/definition')
  @HttpCode(200)
  @RequirePermission('factories:manage')
  @ApiOperation({
    operationId: 'applyFactoryDefinition',
    summary: 'Make a factory what files say',
    description:
      'All or nothing. What the files have not is deleted; agents are disabled. Webhooks take the present values of their secrets.',
  })
  @ApiOkResponse({ type: ApplyDefinitionResponse })
  @ApiBadRequestResponse({ description: 'Files are wrong; `errors` gives file, line, field and message' })
  @ApiNotFoundResponse(UNKNOWN)
  async apply(
    @CurrentAccount() caller: AccountCaller,
    @Param('uid', UuidParam) uid: string,
    @Body() request: ApplyDefinitionRequest,
  ): Promise<ApplyDefinitionResponse> {
    const definition = toDefinition(request.files);
    const isRehearsal = request.dry_run === true;
    const result = await this.transactor[isRehearsal ? 'rehearse' : 'run'](async (tx) => {
      const outcome = await this.applyDefinition.execute(tx, caller, uid, definition);
      // Thrown within, so that what was done up to here is undone.
      if (outcome.outcome === 'refused') throw wrongFiles(outcome.errors);
      return outcome;
    });
    return toApplyDefinitionResponse(!isRehearsal, result);
  }

  @Get('schemas/:kind')
  @Public()
  @ApiOperation({
    operationId: 'getDefinitionSchema',
    summary: 'The JSON Schema of a kind of definition files',
    description: 'For editors. Of Markdown files it describes the front matter.',
  })
  @ApiParam({ name: 'kind', enum: DEFINITION_KINDS })
  @ApiOkResponse({ schema: { type: 'object', additionalProperties: true } })
  @ApiNotFoundResponse({ description: 'There is no such kind' })
  schema(@Param('kind') wanted: string): object {
    const kind = DEFINITION_KINDS.find((each) => each === wanted);
    if (kind === undefined) throw Problem.notFound('kind of definition files');
    return jsonSchemaOf(kind);
  }
}

/** @throws Problem 400 with the lines that are wrong */
function toDefinition(files: Record<string, string>): Definition {
  const parsed = parseDefinition(files);
  if (parsed.outcome === 'invalid') throw wrongFiles(parsed.errors);
  return parsed.definition;
}

const wrongFiles = (errors: DefinitionError[]): Problem =>
  new Problem('invalid_request', {
    detail: `The definition has ${errors.length === 1 ? 'a mistake' : `${errors.length} mistakes`}: see errors`,
    errors: errors.map(({ file, line, field, message }) => ({ file, line, field, message })),
  });
