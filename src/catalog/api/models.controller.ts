import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequirePermission } from '../../identities/index.js';
import { Models } from '../application/models.js';
import { ListModelsResponse, toListModelsResponse } from './model.dto.js';

@ApiTags('Models')
@Controller('v1/agent')
export class ModelsController {
  constructor(private readonly models: Models) {}

  @Get('models')
  @RequirePermission('models:read')
  @ApiOperation({ operationId: 'listModels', summary: 'List the models that runs may name' })
  @ApiOkResponse({ type: ListModelsResponse })
  list(): ListModelsResponse {
    return toListModelsResponse(this.models);
  }
}
