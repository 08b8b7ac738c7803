import { Controller, Get, Header, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../http/access.js';
import { Metrics } from './metrics.js';
import { Readiness, type ReadinessReport } from './readiness.js';

/** For operators and load balancers: is it up, can it work, what does it measure. */
@ApiTags('Operations')
@Public()
@Controller()
export class OperationsController {
  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {}

  @Get('healthz')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ operationId: 'getHealth', summary: 'The process is up' })
  @ApiOkResponse({ schema: { example: { status: 'ok' } } })
  health(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('readyz')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({
    operationId: 'getReadiness',
    summary: 'The process can work: its database is reachable and migrated, and it is not stopping',
  })
  @ApiOkResponse({ schema: { example: { status: 'ready', checks: { database: 'ok' } } } })
  @ApiResponse({ status: 503, description: 'Not ready; `checks` says why' })
  async ready(@Res({ passthrough: true }) response: Response): Promise<ReadinessReport> {
    const report = await this.readiness.check();
    response.status(report.status === 'ready' ? 200 : 503);
    return report;
  }

  @Get('metrics')
  @ApiOperation({ operationId: 'getMetrics', summary: 'Metrics in the Prometheus text format' })
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' } })
  async scrape(@Res({ passthrough: true }) response: Response): Promise<string> {
    response.type(this.metrics.contentType);
    return await this.metrics.render();
  }
}
