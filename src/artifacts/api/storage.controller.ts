import { Controller, Get, Query } from '@nestjs/common';
import { ApiBadRequestResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequirePermission } from '../../identities/index.js';
import { FindOrphanObjects } from '../application/find-orphan-objects.js';
import { OrphanObjectsQuery, OrphanObjectsResponse, toOrphanObjectsResponse } from './storage.dto.js';

@ApiTags('Operations')
@Controller('v1/storage')
export class StorageController {
  constructor(private readonly findOrphanObjects: FindOrphanObjects) {}

  @Get('orphans')
  @RequirePermission('installation:manage')
  @ApiOperation({
    operationId: 'listOrphanObjects',
    summary: 'List stored objects that nothing refers to',
    description:
      'Looks at a thousand objects a request, so a page may be empty and not the last. Objects younger than an hour are left out.',
  })
  @ApiOkResponse({ type: OrphanObjectsResponse })
  @ApiBadRequestResponse({ description: 'The cursor is not one of these pages' })
  async orphans(@Query() { cursor }: OrphanObjectsQuery): Promise<OrphanObjectsResponse> {
    return toOrphanObjectsResponse(await this.findOrphanObjects.execute(cursor));
  }
}
