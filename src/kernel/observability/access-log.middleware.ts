import { Logger } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { Metrics } from './metrics.js';

const logger = new Logger('http');

/** One log line and one observation for each request. The query is left out of both: it may hold a signature. */
export const accessLogMiddleware =
  (metrics: Metrics) =>
  (request: Request, response: Response, next: NextFunction): void => {
    const start = performance.now();
    response.once('close', () => {
      const milliseconds = performance.now() - start;
      const route = (request.route as { path?: string } | undefined)?.path ?? 'unmatched';
      metrics.requestDuration.observe(
        {
          http_request_method: request.method,
          http_route: route,
          http_response_status_code: response.statusCode,
        },
        milliseconds / 1000,
      );
      const fields = {
        method: request.method,
        // The route, not the path, where the path itself is a credential.
        path: route.includes(':token') ? route : request.originalUrl.split('?', 1)[0],
        status: response.statusCode,
        duration_ms: Math.round(milliseconds * 10) / 10,
        // The connection closed before the answer was whole.
        ...(response.writableFinished ? {} : { aborted: true }),
      };
      if (response.statusCode >= 500) logger.warn(fields, 'request');
      else logger.debug(fields, 'request');
    });
    next();
  };
