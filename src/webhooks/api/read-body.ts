import type { IncomingMessage } from 'node:http';
import { SECOND } from '../../kernel/clock.js';
import { OverloadedError } from '../application/micro-batcher.js';
import type { BodyReading } from '../application/receive-delivery.js';
import { MAX_BODY_BYTES } from '../domain/json-payload.js';
import type { BodyMemory } from './held-bytes.js';

/** A body that takes longer is not waited for. */
const BODY_TIMEOUT_MS = 20 * SECOND;

/**
 * Reads a body of at most {@link MAX_BODY_BYTES}, however it is framed and encoded: the bytes are counted as they come, and nothing is
 * ever inflated. What is announced to be too large is not read at all.
 *
 * @param memory holds the bytes until the response is done
 * @throws OverloadedError when too many bodies are held already
 */
export function readBody(request: IncomingMessage, memory: BodyMemory): Promise<BodyReading> {
  const announced = contentLengthOf(request);
  if (announced !== undefined && announced > MAX_BODY_BYTES) {
    return Promise.resolve({ outcome: 'too_large', sizeBytes: announced });
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (reading: BodyReading): void => {
      stop();
      resolve(reading);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) {
        settle({ outcome: 'too_large', sizeBytes: size });
        return;
      }
      if (!memory.take(chunk.length)) {
        stop();
        reject(new OverloadedError('too many bodies are held'));
        return;
      }
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      const [first] = chunks;
      settle({
        outcome: 'read',
        body: first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks),
      });
    };
    const onLost = (): void => {
      settle({ outcome: 'aborted' });
    };
    const timer = setTimeout(onLost, BODY_TIMEOUT_MS);
    const stop = (): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onLost);
    };
    // An error listener stays: a connection that breaks later must not end the process.
    request.on('data', onData).on('end', onEnd).on('close', onLost).on('error', onLost);
  });
}

/** Node has checked already that it is a number, and refused a request that has two. */
export function contentLengthOf({ headers }: IncomingMessage): number | undefined {
  const value = headers['content-length'];
  return value === undefined ? undefined : Number(value);
}
