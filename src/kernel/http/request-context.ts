import { parseTraceParent } from '@opentelemetry/core';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** What is known of the request that is being handled. For logs and error bodies alone: no decision rests on ambient state. */
export interface RequestContext {
  /** 32 hexadecimal digits (W3C Trace Context), the caller's if it sent a valid `traceparent`. */
  readonly traceId: string;
}

const storage = new AsyncLocalStorage<RequestContext>();

export const currentRequest = (): RequestContext | undefined => storage.getStore();

/** Runs work that no request started (a loop, a job, a socket's message) under a trace id of its own. */
export const withNewTrace = <T>(work: () => T): T => storage.run({ traceId: newTraceId() }, work);

/** Runs work on behalf of a request: what it logs and answers bears the request's trace id. */
export const inRequest = <T>(context: RequestContext, work: () => T): T => storage.run(context, work);

/** Gives a request its trace id, and its response the header `X-Trace-Id`. */
export function beginRequest({ headers }: IncomingMessage, response: ServerResponse): RequestContext {
  const given = headers.traceparent;
  const traceId = (typeof given === 'string' ? parseTraceParent(given)?.traceId : undefined) ?? newTraceId();
  response.setHeader('X-Trace-Id', traceId);
  return { traceId };
}

/** Handles every request in a context of its own. */
export function requestContextMiddleware(
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
): void {
  inRequest(beginRequest(request, response), next);
}

/** Node keeps random bytes in store for UUIDs; asking for sixteen each time is a system call each time. */
const newTraceId = (): string => randomUUID().replaceAll('-', '');
