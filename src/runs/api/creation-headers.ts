import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { ApiHeaderOptions } from '@nestjs/swagger';
import type { Request } from 'express';
import { Problem } from '../../kernel/errors/problem.js';
import { API_SOURCES, type ApiSource } from '../domain/run-source.js';

export const IDEMPOTENCY_HEADER: ApiHeaderOptions = {
  name: 'Idempotency-Key',
  required: false,
  description:
    'Chosen by you for this request. Sent again with the same body within 24 hours it is answered with the run that the first request ' +
    'created; with another body it is a 409.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

export const SOURCE_HEADER: ApiHeaderOptions = {
  name: 'X-Api-Source',
  required: false,
  description:
    'What you are (also `X-Oz-Api-Source`). The runs of LOCAL and GITHUB_ACTION are executed by you: no worker gets them, and the ' +
    'answer has their `run_key`.',
  schema: { type: 'string', enum: [...API_SOURCES], default: 'API' },
};

/** The headers of a request that creates a run. */
export interface CreationHeaders {
  source: ApiSource;
  idempotencyKey?: string;
  /** The team that the caller asks to act for. */
  teamUid?: string;
}

/** @throws Problem 400 naming the header */
export const CreationHeadersOf = createParamDecorator(
  (_: unknown, context: ExecutionContext): CreationHeaders => {
    const request = context.switchToHttp().getRequest<Request>();
    return {
      source: sourceOf(request.get('x-api-source') ?? request.get('x-oz-api-source') ?? 'API'),
      idempotencyKey: idempotencyKeyOf(request.get('idempotency-key')),
      teamUid: (request.get('x-team-uid') ?? request.get('x-warp-team-uid'))?.toLowerCase(),
    };
  },
);

function sourceOf(given: string): ApiSource {
  const source = API_SOURCES.find((each) => each === given);
  if (source !== undefined) return source;
  throw Problem.invalid([{ field: 'X-Api-Source', message: `must be one of ${API_SOURCES.join(', ')}` }]);
}

function idempotencyKeyOf(given: string | undefined): string | undefined {
  if (given === undefined || /^[\x20-\x7e]{1,255}$/.test(given)) return given;
  throw Problem.invalid([{ field: 'Idempotency-Key', message: 'must be 1 to 255 printable characters' }]);
}
