/**
 * How many more runs a worker is given. A worker alone knows its limit; the built-in one announces it, others are offered a few runs
 * at a time until they refuse one, and are then left alone until they have finished something or a while has passed.
 */
export class WorkerCapacity {
  private readonly held = new Set<number>();
  private readonly unclaimed = new Set<number>();
  private fullUntil = 0;

  /** @param slots runs at a time, where the worker announced it */
  constructor(private readonly slots: number | undefined) {}

  /** @param now milliseconds */
  free(now: number): number {
    if (now < this.fullUntil) return 0;
    const offers = MAX_UNCLAIMED - this.unclaimed.size;
    return Math.max(0, this.slots === undefined ? offers : Math.min(offers, this.slots - this.held.size));
  }

  assigned(executionId: number): void {
    this.held.add(executionId);
    this.unclaimed.add(executionId);
  }

  claimed(executionId: number): void {
    this.unclaimed.delete(executionId);
  }

  /** The worker refused the run: it is full. */
  rejected(executionId: number, now: number): void {
    this.held.delete(executionId);
    this.unclaimed.delete(executionId);
    this.fullUntil = now + FULL_MS;
  }

  /** The run is off the worker's hands: finished, or taken back. */
  released(executionId: number): void {
    this.held.delete(executionId);
    this.unclaimed.delete(executionId);
    this.fullUntil = 0;
  }
}

/** Offers that may be open at a time: enough to hide the round trip, few enough to share the queue with other workers. */
const MAX_UNCLAIMED = 8;
const FULL_MS = 10_000;
