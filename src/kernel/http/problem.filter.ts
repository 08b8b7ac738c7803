import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Injectable,
  Logger,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Application, Request, Response } from 'express';
import { AppConfig } from '../../config/app-config.js';
import { ERROR_CATALOGUE, type ErrorCode } from '../errors/error-catalogue.js';
import { Problem } from '../errors/problem.js';
import { isDatabaseUnavailable } from '../persistence/sqlstate.js';
import { allowedMethods } from './allowed-methods.js';
import { problemHeaders, toProblemBody } from './problem-response.js';

/** Turns whatever a request threw into a problem document. What is not meant for the client is logged and told as a 500. */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger(ProblemFilter.name);

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly config: AppConfig,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const problem = this.toProblem(error, request);
    if (ERROR_CATALOGUE[problem.code].status >= 500) {
      this.logger.error({ err: error, error_code: problem.code }, 'request failed');
    }
    if (response.headersSent) {
      // The status is gone already: cutting the connection is the only way left to say that the body is not whole.
      response.destroy();
      return;
    }
    response
      .status(ERROR_CATALOGUE[problem.code].status)
      .set(problemHeaders(problem))
      .type('application/problem+json')
      .send(JSON.stringify(toProblemBody(problem, this.config.publicUrl, pathOf(request))));
  }

  private toProblem(error: unknown, request: Request): Problem {
    if (error instanceof Problem) return error;
    if (error instanceof HttpException) return this.fromHttpException(error, request);
    const bodyProblem = fromBodyParser(error);
    if (bodyProblem !== undefined) return bodyProblem;
    if (isDatabaseUnavailable(error)) return new Problem('resource_unavailable', { cause: error });
    return new Problem('internal_error', { cause: error });
  }

  private fromHttpException(error: HttpException, request: Request): Problem {
    const status = error.getStatus();
    if (status === 404 && request.route === undefined) {
      const app = this.adapterHost.httpAdapter.getInstance<Application>();
      const allowed = allowedMethods(app, request.path);
      if (allowed.length > 0) {
        return new Problem('method_not_allowed', {
          detail: `${request.method} is not allowed here; allowed: ${allowed.join(', ')}`,
          headers: { Allow: allowed.join(', ') },
        });
      }
      return new Problem('resource_not_found', {
        detail: `There is no route ${request.method} ${pathOf(request)}`,
      });
    }
    if (status === 400 && request.route === undefined) {
      // Nest has made these of the errors that came up before a route was found, and kept their message alone. That of a JSON error
      // quotes the body, which may hold a secret.
      return error.message.startsWith('Failed to decode param')
        ? new Problem('resource_not_found', { detail: 'The path is not valid' })
        : Problem.invalid([{ field: 'body', message: 'is not valid JSON' }]);
    }
    const code = (Object.keys(ERROR_CATALOGUE) as ErrorCode[]).find(
      (key) => ERROR_CATALOGUE[key].status === status,
    );
    if (code === undefined || status >= 500) return new Problem('internal_error', { cause: error });
    return new Problem(code, { detail: error.message });
  }
}

const pathOf = (request: Request): string => request.originalUrl.split('?', 1)[0] ?? '/';

/** The errors of body-parser, raw-body and the URL decoder: plain errors that carry a `type` or a 4xx `status`. */
function fromBodyParser(error: unknown): Problem | undefined {
  if (!(error instanceof Error)) return undefined;
  const { type, limit, status } = error as Error & { type?: string; limit?: number; status?: number };
  if (type === 'entity.too.large') {
    return new Problem('payload_too_large', {
      detail: limit === undefined ? undefined : `at most ${String(limit)} bytes`,
    });
  }
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') {
    return Problem.invalid([{ field: 'body', message: error.message }]);
  }
  if (type === 'request.aborted' || (status !== undefined && status >= 400 && status < 500)) {
    return Problem.invalid([{ field: 'body', message: 'could not be read' }]);
  }
  return undefined;
}
