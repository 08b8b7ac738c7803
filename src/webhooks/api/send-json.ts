import type { IncomingMessage, ServerResponse } from 'node:http';
import { SECOND } from '../../kernel/clock.js';
import { MAX_BODY_BYTES } from '../domain/json-payload.js';
import { contentLengthOf } from './read-body.js';

/** After an early answer the rest of a body is thrown away for so long, and so much of it. */
const LINGER_MS = 2 * SECOND;
const LINGER_BYTES = 4 * 1024 * 1024;

/** Answers with JSON, also when the request's body has not come in whole. */
export function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: object,
  type = 'application/json',
): void {
  const text = JSON.stringify(body);
  response.statusCode = status;
  response.setHeader('Content-Type', `${type}; charset=utf-8`);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (request.complete || (contentLengthOf(request) ?? Infinity) <= MAX_BODY_BYTES) {
    // Node itself reads the little that is left of the body, and keeps the connection.
    response.end(text);
  } else {
    response.setHeader('Connection', 'close');
    response.write(text);
    linger(request, () => response.end());
  }
}

/**
 * Reads on before the connection is closed: one that is closed while the sender still writes is reset, and the sender never sees the
 * answer.
 */
function linger(request: IncomingMessage, done: () => void): void {
  let discarded = 0;
  const stop = (): void => {
    clearTimeout(timer);
    request.off('data', discard).off('end', stop).off('close', stop).pause();
    done();
  };
  const discard = (chunk: Buffer): void => {
    discarded += chunk.length;
    if (discarded > LINGER_BYTES) stop();
  };
  const timer = setTimeout(stop, LINGER_MS);
  request.on('data', discard).once('end', stop).once('close', stop).resume();
}
