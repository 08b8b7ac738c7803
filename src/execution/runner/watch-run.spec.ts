import { describe, expect, it } from '@jest/globals';
import { ExecutionOverError } from './control-plane.js';
import type { HeardEvent } from './event-lines.js';
import { watchRun } from './watch-run.js';

/** Streams that bring these events, one after the other; an error breaks one off. */
function planeWith(streams: (HeardEvent | Error)[][], heartbeats: (Error | undefined)[]) {
  const asked: number[] = [];
  return {
    asked,
    async *follow(since: number) {
      asked.push(since);
      for (const event of await Promise.resolve(streams.shift() ?? [])) {
        if (event instanceof Error) throw event;
        yield event;
      }
    },
    heartbeat: () => {
      const error = heartbeats.shift();
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    },
  };
}

const over = new ExecutionOverError(409, 'harness-support/heartbeat');
const event = (type: string, sequence: number): HeardEvent => ({ type, sequence });

const inbox = {
  rings: 0,
  ring: () => {
    inbox.rings += 1;
  },
};

describe('watchRun', () => {
  it('asks whether a cancel means this execution, and ends when it does', async () => {
    const plane = planeWith(
      [
        [event('new_message', 3), event('run_cancelled', 4), event('run_in_progress', 6)],
        [event('run_cancelled', 9)],
      ],
      [undefined, over],
    );
    await expect(watchRun(plane, inbox, () => Promise.resolve())).rejects.toBe(over);
    expect(plane.asked).toEqual([0, 6]);
    expect(inbox.rings).toBe(1);
  });

  it('goes on where it was after whatever fails, and waits longer each time', async () => {
    const waits: number[] = [];
    const plane = planeWith(
      [
        [event('run_in_progress', 2), new Error('cut off')],
        [new ExecutionOverError(404, 'agent/events/stream')],
        [],
        [event('run_cancelled', 5)],
      ],
      [over],
    );
    const wait = (ms: number) => Promise.resolve(waits.push(ms));
    await expect(watchRun(plane, inbox, wait)).rejects.toBe(over);
    expect(plane.asked).toEqual([0, 2, 2, 2]);
    // Each within its upper half.
    expect(waits.map((ms) => 2 ** Math.ceil(Math.log2(ms / 1000)))).toEqual([1, 2, 4]);
  });
});
