import { currentRequest } from './request-context.js';
import { ERROR_CATALOGUE } from '../errors/error-catalogue.js';
import type { Problem } from '../errors/problem.js';
import type { ProblemDocument } from './problem-document.dto.js';

const RETRY_AFTER_SECONDS = 1;

/** @param path the path of the request, without its query: that may hold what must not be repeated */
export function toProblemBody(problem: Problem, publicUrl: string, path: string): ProblemDocument {
  const { status, title } = ERROR_CATALOGUE[problem.code];
  return {
    type: `${publicUrl}/errors/${problem.code}`,
    title,
    status,
    error: problem.detail === undefined ? title : `${title} (${problem.detail})`,
    error_code: problem.code,
    detail: problem.detail,
    instance: path,
    retryable: problem.retryable,
    trace_id: currentRequest()?.traceId ?? '',
    errors: problem.errors,
  };
}

/** The headers that the contract ties to a status, and the problem's own. */
export function problemHeaders(problem: Problem): Record<string, string> {
  const { status } = ERROR_CATALOGUE[problem.code];
  return {
    ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...(status === 503 ? { 'Retry-After': String(RETRY_AFTER_SECONDS) } : {}),
    ...problem.headers,
  };
}
