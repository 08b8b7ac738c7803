import { describe, expect, it } from '@jest/globals';
import { MicroBatcher, type MicroBatcherOptions, OverloadedError } from './micro-batcher.js';

/** A batcher whose batches end when they are told to. */
function batcher(options: Partial<MicroBatcherOptions<number, string>> = {}) {
  const batches: { items: number[]; end: (error?: Error) => void }[] = [];
  return {
    batches,
    batcher: new MicroBatcher<number, string>({
      run: (items) =>
        new Promise((resolve, reject) => {
          batches.push({
            items,
            end: (error) => {
              if (error === undefined) resolve(items.map(String));
              else reject(error);
            },
          });
        }),
      isWorthSplitting: () => true,
      bytesOf: () => 1,
      maxItems: 3,
      maxBytes: 100,
      maxInFlight: 2,
      minItemsBeside: 3,
      maxWaiting: 10,
      ...options,
    }),
  };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const itemsOf = (batches: { items: number[] }[]) => batches.map(({ items }) => items);

describe('MicroBatcher', () => {
  it('sends what came in one turn together, and no more than so many batches at a time', async () => {
    const { batcher: subject, batches } = batcher();
    const results = [1, 2, 3, 4, 5, 6, 7].map((item) => subject.add(item));
    expect(batches).toEqual([]);
    await turn();
    expect(itemsOf(batches)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    results.push(subject.add(8), subject.add(9));
    await turn();
    expect(batches).toHaveLength(2);
    batches[1]!.end();
    await turn();
    expect(itemsOf(batches)[2]).toEqual([7, 8, 9]);
    batches[0]!.end();
    batches[2]!.end();
    expect(await Promise.all(results)).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9']);
  });

  it('sends beside a batch under way only what is worth it, and what waits as soon as none is', async () => {
    const { batcher: subject, batches } = batcher({ minItemsBeside: 2 });
    void subject.add(1);
    await turn();
    void subject.add(2);
    await turn();
    expect(itemsOf(batches)).toEqual([[1]]);
    void subject.add(3);
    await turn();
    expect(itemsOf(batches)).toEqual([[1], [2, 3]]);
    void subject.add(4);
    batches[1]!.end();
    await turn();
    expect(batches).toHaveLength(2);
    batches[0]!.end();
    await turn();
    expect(itemsOf(batches)[2]).toEqual([4]);
  });

  it('has the next batch under way before it tells the results of the one before', async () => {
    const sent: { items: number[]; end: () => void }[] = [];
    // As a pool of connections does, which hands out the next one a tick later.
    const run = (items: number[]): Promise<string[]> =>
      new Promise((resolve) => {
        process.nextTick(() => {
          sent.push({
            items,
            end: () => {
              resolve(items.map(String));
            },
          });
        });
      });
    const { batcher: subject } = batcher({ run, maxInFlight: 1 });
    const told: number[] = [];
    void subject.add(1).then(() => told.push(sent.length));
    await turn();
    void subject.add(2);
    sent[0]!.end();
    await turn();
    await turn();
    expect(told).toEqual([2]);
    expect(itemsOf(sent)).toEqual([[1], [2]]);
  });

  it('ends a batch before it has too many bytes, but for a single item', async () => {
    const { batcher: subject, batches } = batcher({ bytesOf: (item) => item });
    for (const item of [60, 60, 30, 10, 500]) void subject.add(item);
    for (let batch = 0; batch < 3; batch++) {
      await turn();
      batches[batch]!.end();
    }
    expect(itemsOf(batches)).toEqual([[60], [60, 30, 10], [500]]);
  });

  it('tries the items of a failed batch one by one, so that one of them harms no other', async () => {
    const { batcher: subject, batches } = batcher();
    const results = Promise.allSettled([1, 2].map((item) => subject.add(item)));
    await turn();
    batches[0]!.end(new Error('together'));
    await turn();
    batches[1]!.end(new Error('the first'));
    await turn();
    batches[2]!.end();
    expect(itemsOf(batches)).toEqual([[1, 2], [1], [2]]);
    expect(await results).toMatchObject([{ reason: { message: 'the first' } }, { value: '2' }]);
  });

  it('stops trying them one by one at what no item is to blame for', async () => {
    const { batcher: subject, batches } = batcher({
      isWorthSplitting: (error) => (error as Error).message !== 'unreachable',
    });
    const results = Promise.allSettled([1, 2, 3].map((item) => subject.add(item)));
    await turn();
    batches[0]!.end(new Error('together'));
    await turn();
    batches[1]!.end();
    await turn();
    batches[2]!.end(new Error('unreachable'));
    expect(await results).toMatchObject([
      { value: '1' },
      { reason: { message: 'unreachable' } },
      { reason: { message: 'unreachable' } },
    ]);
    expect(batches).toHaveLength(3);
  });

  it('fails them together when that would not help', async () => {
    const { batcher: subject, batches } = batcher({ isWorthSplitting: () => false });
    const results = Promise.allSettled([1, 2].map((item) => subject.add(item)));
    await turn();
    batches[0]!.end(new Error('unreachable'));
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
  });

  it('refuses what is too much to wait', async () => {
    const { batcher: subject } = batcher({ maxWaiting: 2 });
    void subject.add(1);
    void subject.add(2);
    await expect(subject.add(3)).rejects.toThrow(OverloadedError);
  });
});
