import { describe, expect, it } from '@jest/globals';
import { readEvents } from './event-lines.js';

async function eventsOf(...chunks: string[]) {
  const bytes = chunks.map((chunk) => new TextEncoder().encode(chunk));
  const events = [];
  async function* body() {
    yield* await Promise.resolve(bytes);
  }
  for await (const event of readEvents(body())) events.push(event);
  return events;
}

const CANCELLED = 'id: 7\ndata: {"event_type":"run_cancelled","sequence":7,"ref_id":null}\n\n';

describe('readEvents', () => {
  it('finds events however they are cut into chunks', async () => {
    const expected = [{ type: 'run_cancelled', sequence: 7 }];
    expect(await eventsOf(`retry: 1000\n\n: here\n\n${CANCELLED}`)).toEqual(expected);
    expect(await eventsOf(...Array.from(CANCELLED))).toEqual(expected);
  });

  it('passes over what is no event', async () => {
    expect(await eventsOf('data: nonsense\n\ndata: 1\n\ndata: null\n\ndata: {}\n\n', CANCELLED)).toEqual([
      { type: 'run_cancelled', sequence: 7 },
    ]);
  });

  it('does not collect a line without an end', async () => {
    expect(await eventsOf(`data: ${'x'.repeat(100_000)}`, `\n${CANCELLED}`)).toHaveLength(1);
  });
});
