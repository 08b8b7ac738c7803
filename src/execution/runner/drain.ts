import type { Readable } from 'node:stream';

const IDLE_MS = 200;
const LIMIT_MS = 2_000;

/**
 * Resolves when a flowing stream has ended, or has been silent for 200 ms, or after 2 s. For a pipe whose main writer
 * is gone and which background processes may hold open for as long as they like.
 */
export function drain(source: Readable): Promise<void> {
  if (source.readableEnded || source.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(idle);
      clearTimeout(limit);
      source.off('data', onData).off('end', done).off('close', done);
      resolve();
    };
    const idle = setTimeout(done, IDLE_MS);
    const limit = setTimeout(done, LIMIT_MS);
    const onData = (): void => void idle.refresh();
    source.on('data', onData).once('end', done).once('close', done);
  });
}
