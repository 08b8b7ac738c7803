import { Logger } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { ServerResponse } from 'node:http';
import { currentRequest, type RequestContext } from '../http/request-context.js';
import type { Metrics } from './metrics.js';

const logger = new Logger('http');

/** One log line and one observation for each request. The query is left out of both: it may hold a signature. */
export const accessLogMiddleware =
  (metrics: Metrics) =>
  (request: Request, response: Response, next: NextFunction): void => {
    observeRequest(metrics, currentRequest(), response, request.method, () => {
      const route = (request.route as { path?: string } | undefined)?.path ?? 'unmatched';
      // The route, not the path, where the path itself is a credential.
      return {
        route,
        path: route.includes(':token') ? route : (request.originalUrl.split('?', 1)[0] ?? '/'),
      };
    });
    next();
  };

/** @param describe which route it was and which path may be logged; asked when the answer is out */
export function observeRequest(
  metrics: Metrics,
  context: RequestContext | undefined,
  response: ServerResponse,
  method: string,
  describe: () => { route: string; path: string },
): void {
  const start = performance.now();
  response.once('close', () => {
    const milliseconds = performance.now() - start;
    const { route, path } = describe();
    metrics.requestDuration.observe(
      {
        http_request_method: method,
        http_route: route,
        http_response_status_code: response.statusCode,
      },
      milliseconds / 1000,
    );
    const fields = {
      trace_id: context?.traceId,
      method,
      path,
      status: response.statusCode,
      duration_ms: Math.round(milliseconds * 10) / 10,
      // The connection closed before the answer was whole.
      ...(response.writableFinished ? {} : { aborted: true }),
    };
    if (response.statusCode >= 500) logger.warn(fields, 'request');
    else logger.debug(fields, 'request');
  });
}
