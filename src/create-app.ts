import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import helmet from 'helmet';
import { AppModule } from './app.module.js';
import { requestContextMiddleware } from './kernel/http/request-context.js';
import { jsonBodyMiddleware } from './kernel/http/json-body.middleware.js';
import { setServerTimeouts } from './kernel/http/server-timeouts.js';
import { ProblemFilter } from './kernel/http/problem.filter.js';
import { RequestValidationPipe } from './kernel/http/request-validation.pipe.js';
import type { Foundation } from './kernel/kernel.module.js';
import { accessLogMiddleware } from './kernel/observability/access-log.middleware.js';
import { StructuredLogger } from './kernel/observability/logger.js';
import { Metrics } from './kernel/observability/metrics.js';
import { serveOpenApi } from './openapi-document.js';
import { serveIngress } from './webhooks/index.js';

/** The one bootstrap of the application: the service and every end-to-end test get it from here. It does not listen yet. */
export async function createApp(foundation: Foundation): Promise<NestExpressApplication> {
  const { config } = foundation;
  const app = await NestFactory.create<NestExpressApplication>(AppModule.for(foundation), {
    logger: new StructuredLogger(config),
    bodyParser: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  app.disable('x-powered-by');
  app.use(requestContextMiddleware);
  app.use(accessLogMiddleware(app.get(Metrics)));
  app.use(rewriteApiAlias);
  if (!config.roles.has('api')) app.use(refuseApi);
  // Swagger UI styles itself inline; nothing else on this origin is markup of ours but the error pages, which do too.
  app.use(
    helmet({
      contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
      strictTransportSecurity: config.publicUrl.startsWith('https:'),
    }),
  );
  app.use(jsonBodyMiddleware);
  app.useGlobalPipes(new RequestValidationPipe());
  app.useGlobalFilters(app.get(ProblemFilter));
  serveOpenApi(app);
  serveIngress(app);
  setServerTimeouts(app.getHttpServer());
  return app;
}

/** Clients that are given a server root append `/api/v1`; the routes are the same. */
function rewriteApiAlias(request: Request, _response: Response, next: NextFunction): void {
  if (request.url.startsWith('/api/v1/')) request.url = request.url.slice('/api'.length);
  next();
}

/** A process without the role `api` answers operators alone, and the agents of the runs that its workers execute. */
function refuseApi(request: Request, response: Response, next: NextFunction): void {
  const isServed =
    /^\/(healthz|readyz|metrics|objects\/|v1\/harness-support\/|v1\/agent\/(events|messages|runs\/[^/]+\/(client-events|event-sequence)))/;
  if (isServed.test(request.path)) next();
  else response.status(404).end();
}
