import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { ApiQueryOptions } from '@nestjs/swagger';
import type { Request } from 'express';
import { Problem } from '../../kernel/errors/problem.js';
import { MAX_METADATA_PAIRS } from '../domain/run-filter.js';
import { complaintAbout } from '../domain/metadata.js';

/** How the OpenAPI document describes the parameter of {@link MetadataPairs}. */
export const METADATA_PARAMETER: ApiQueryOptions = {
  name: 'metadata',
  required: false,
  style: 'deepObject',
  explode: true,
  schema: { type: 'object', additionalProperties: { type: 'string' }, maxProperties: MAX_METADATA_PAIRS },
  example: { ticket: 'OPS-1142' },
  description:
    'Runs with all of these pairs, exactly: `metadata[ticket]=OPS-1142`. At most 5. `feature_not_available` where the operator has ' +
    'switched it off.',
};

/** The pairs of `metadata[key]=value` in the query, brackets encoded or not, with whatever keys: the query parser knows no brackets. */
export const MetadataPairs = createParamDecorator((_: unknown, context: ExecutionContext) =>
  metadataPairs(context.switchToHttp().getRequest<Request>().originalUrl),
);

/**
 * @param url of the request, with its query
 * @throws Problem 400 naming the parameter when one is malformed or given twice, or there are too many
 */
export function metadataPairs(url: string): [key: string, value: string][] {
  const start = url.indexOf('?');
  const pairs = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(start === -1 ? '' : url.slice(start))) {
    if (name !== 'metadata' && !name.startsWith('metadata[')) continue;
    const key = /^metadata\[(.*)\]$/s.exec(name)?.[1];
    if (key === undefined) throw refuse('metadata', 'must be given as metadata[key]=value');
    const complaint = pairs.has(key)
      ? 'must be given once'
      : complaintAbout(Object.fromEntries([[key, value]]));
    if (complaint !== undefined) throw refuse(name, complaint);
    pairs.set(key, value);
    if (pairs.size > MAX_METADATA_PAIRS) {
      throw refuse('metadata', `must have at most ${String(MAX_METADATA_PAIRS)} pairs`);
    }
  }
  return [...pairs];
}

const refuse = (field: string, message: string): Problem => Problem.invalid([{ field, message }]);
