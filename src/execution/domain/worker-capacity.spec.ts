import { describe, expect, it } from '@jest/globals';
import { WorkerCapacity } from './worker-capacity.js';

const LATER = 45_000;

describe('WorkerCapacity', () => {
  it('gives a worker that announced its slots no more than these', () => {
    const capacity = new WorkerCapacity(2);
    expect(capacity.free(0)).toBe(2);
    capacity.assigned(1, LATER);
    capacity.claimed(1);
    capacity.assigned(2, LATER);
    expect(capacity.free(0)).toBe(0);
    capacity.released(1);
    expect(capacity.free(0)).toBe(1);
  });

  it('offers a worker that did not eight at a time, counting those that it has not answered', () => {
    const capacity = new WorkerCapacity(undefined);
    for (let execution = 1; execution <= 8; execution++) capacity.assigned(execution, LATER);
    expect(capacity.free(0)).toBe(0);
    capacity.claimed(1);
    expect(capacity.free(0)).toBe(1);
  });

  it('leaves a worker that refused alone for ten seconds, or until it has finished something', () => {
    const capacity = new WorkerCapacity(undefined);
    capacity.assigned(1, LATER);
    capacity.assigned(2, LATER);
    capacity.rejected(2, 1000);
    expect(capacity.free(10_999)).toBe(0);
    expect(capacity.free(11_000)).toBe(7);
    capacity.released(1);
    expect(capacity.free(1001)).toBe(8);
  });

  it('takes an offer for lost that was not claimed by its deadline, until it is claimed after all', () => {
    const capacity = new WorkerCapacity(2);
    capacity.assigned(1, 1000);
    capacity.assigned(2, 2000);
    expect(capacity.free(999)).toBe(0);
    expect(capacity.free(1000)).toBe(1);
    capacity.claimed(1);
    capacity.claimed(2);
    expect(capacity.free(2000)).toBe(0);
  });
});
